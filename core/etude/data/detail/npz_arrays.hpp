#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/detail/stored_tensor.hpp"
#include "etude/base/file_source.hpp"

namespace etude {

/// The arrays in a file of NumPy (.npz), in its order. They are read when they are asked for; a compressed one is first
/// expanded in memory. Throws as parse_npz does; reading an array throws Error(data) for what is damaged in it.
std::vector<StoredTensor> npz_arrays(std::shared_ptr<FileSource> source, std::string_view where,
                                     std::optional<std::uint64_t> limit = {});
/// Writes arrays as write_npz does, one after another.
void write_npz_arrays(const std::string& path, const std::vector<StoredTensor>& arrays, bool compressed = false);

}  // namespace etude
