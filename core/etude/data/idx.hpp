#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// The tensor in an IDX file, the format of MNIST and Fashion-MNIST. Gzipped files are recognised by their first bytes.
/// `limit`: the most bytes after expansion, as for gunzip. Throws Error(io) if the file cannot be read, Error(data) if
/// it is incomplete.
Tensor read_idx(const std::string& path, std::optional<std::uint64_t> limit = {});

/// The same from memory. uint8, int32, float32 and float64 keep their dtype; int8 and int16 become int32. `where` names
/// the source in errors. Source: yann.lecun.com/exdb/mnist.
Tensor parse_idx(std::span<const std::byte> bytes, std::string_view where = "IDX");

/// Decompresses `bytes`, in gzip format. Throws Error(data) for damaged input and beyond `limit` bytes, and
/// Error(state) in builds without zlib (ETUDE_ZLIB). The default limit is 100 times their size, or 1 MiB if that is
/// more: a small file of zeros can expand to a thousand times its size.
std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::string_view where = "gzip",
                              std::optional<std::uint64_t> limit = {});
/// Whether the bytes begin with the mark of a gzip file.
bool is_gzip(std::span<const std::byte> bytes);

}  // namespace etude
