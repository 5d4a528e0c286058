#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/detail/stored_tensor.hpp"
#include "etude/base/vfs.hpp"
#include "etude/saving/detail/json.hpp"
#include "etude/saving/safetensors.hpp"

namespace etude {

/// The weights of a model of TensorFlow.js: the "weightsManifest" of its model.json, a list of groups, each of files
/// ("paths") whose bytes in a row hold its "weights". Source: tfjs-core/src/io/io_utils.ts.

/// The tensors of a manifest, whose files are in the folder of `model_json`; each is read when it is requested.
/// float32, int32 and bool are read; numbers that are quantized to uint8, uint16 or float16 get their dtype back. With
/// `wanted`, only tensors of those names are listed. Throws Error(data) for a damaged manifest, for files that are too
/// short or too long, for names of files with slashes, for names of weights that are not unique, and for other dtypes;
/// Error(io).
std::vector<StoredTensor> tfjs_weights(const Json& manifest, const std::string& model_json,
                                       const std::shared_ptr<Vfs>& files,
                                       const std::function<bool(const std::string& name)>& wanted = {});
/// The same tensors, all of them read.
std::vector<NamedTensor> read_tfjs_weights(const Json& manifest, const std::string& model_json, Vfs& files,
                                           const std::function<bool(const std::string& name)>& wanted = {});

/// Writes the tensors in order to new files of 4 MiB in a folder, group1-shard1of2.bin and so on, and returns the
/// manifest; if there are such files, to group1-shard1of2-1.bin and so on. After an error none of them is left.
/// Throws Error(dtype) for dtypes other than float32, int32, bool and uint8, which becomes int32; Error(io). One tensor
/// is in memory at a time. `prefix` begins the files' names.
Json write_tfjs_shards(const std::vector<StoredTensor>& tensors, const std::string& folder, Vfs& files,
                       const std::string& prefix = {});
/// The same of tensors in memory.
Json write_tfjs_weights(const std::vector<NamedTensor>& tensors, const std::string& folder, Vfs& files);

}  // namespace etude
