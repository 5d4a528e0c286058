#pragma once

/// Private to core/saving: weights in several files, with an index of them.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/detail/stored_tensor.hpp"
#include "etude/base/vfs.hpp"
#include "etude/saving/hdf5/detail/hdf5_reader.hpp"

namespace etude {

/// The index: for each tensor, or each group of Keras, the names of the files that have it. All are in the folder of
/// the index. Throws Error(data) for names that lead elsewhere.
using ShardIndex = std::map<std::string, std::vector<std::string>, std::less<>>;
ShardIndex parse_shard_index(std::string_view text, const std::string& path);

/// The files of a .weights.json of Keras, which are opened when they are first needed.
class KerasShards {
 public:
  /// `where` is the caller's name in errors.
  KerasShards(const std::string& path, const std::string& where);
  /// The files that have datasets of a group.
  std::vector<hdf5::Reader*> files_of(const std::string& group);

 private:
  std::shared_ptr<Vfs> files_;
  std::string folder_;
  ShardIndex index_;
  std::map<std::string, std::unique_ptr<hdf5::Reader>> opened_;
};

/// The wanted tensors of a model.safetensors.index.json with this text. Throws Error(data) if a file lacks one.
std::vector<StoredTensor> safetensors_shards(std::string_view text, const std::string& path, Vfs& files,
                                             const std::function<bool(const std::string& name)>& wanted);

}  // namespace etude
