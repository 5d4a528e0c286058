#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "etude/base/detail/stored_tensor.hpp"
#include "etude/base/file_source.hpp"

namespace etude {

// Two parts of the WebAssembly module share these functions, so their types need little code: functions, no vectors.

/// Calls `visit` with each array of a file of NumPy (.npz), in its order. Arrays are read when they are requested, also
/// later; a compressed one is first expanded in memory. Throws as parse_npz does; reading an array throws Error(data)
/// for damaged contents.
void visit_npz_arrays(const std::shared_ptr<FileSource>& source, std::string_view where,
                      const std::function<void(const StoredTensor&)>& visit);
/// Writes `count` arrays as write_npz does, one after another.
void write_npz_arrays(const std::string& path, std::size_t count, const std::function<StoredTensor(std::size_t)>& array,
                      bool compressed = false);

}  // namespace etude
