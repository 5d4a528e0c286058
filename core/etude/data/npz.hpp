#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// The arrays in a file of numpy.savez or savez_compressed, by their names. `limit`: the most bytes after expansion of
/// all compressed arrays, by default 100 times the file's size, or 1 MiB if that is more. Throws Error(io) if the file
/// cannot be read, Error(data) if it is damaged or has other contents than arrays that read_npy reads, Error(state) for
/// compressed arrays in builds without zlib.
std::map<std::string, Tensor> read_npz(const std::string& path, std::optional<std::uint64_t> limit = {});
/// The same from memory. `where` names the source in errors.
std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, std::string_view where = "npz",
                                        std::optional<std::uint64_t> limit = {});

/// An array in a .npz file: a .npy file.
struct NpzEntry {
  /// Its name, without ".npy".
  std::string name;
  /// The bytes of the .npy file, or of a gzip file that contains it.
  std::vector<std::byte> bytes;
  /// Whether they are gzipped.
  bool gzipped;
};

/// The arrays of a .npz file that is in memory, still compressed, for hosts that expand them by other means than zlib.
std::vector<NpzEntry> npz_entries(std::span<const std::byte> bytes, std::string_view where = "npz");

}  // namespace etude
