#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// The arrays in a file of numpy.savez or savez_compressed, by their names. `limit`: the most bytes after expansion of
/// all compressed arrays, by default 100 times the file's size, or 1 MiB if that is more. Throws Error(io) if the file
/// cannot be read, Error(data) if it is damaged or has other contents than arrays that read_npy reads.
std::map<std::string, Tensor> read_npz(const std::string& path, std::optional<std::uint64_t> limit = {});
/// The same from memory. `where` names the source in errors.
std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, std::string_view where = "npz",
                                        std::optional<std::uint64_t> limit = {});

/// Options of write_npz.
struct WriteNpzOptions {
  /// Whether the arrays are compressed, as by numpy.savez_compressed.
  bool compressed = false;
};

/// Writes arrays to a file that numpy.load reads, in this order. Readers find the previous file or the complete new
/// one. Throws Error(io) on failure, Error(dtype) for bfloat16, which NumPy lacks, and Error(value) for names that are
/// not unique, or not relative paths.
void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
               const WriteNpzOptions& options = {});

}  // namespace etude
