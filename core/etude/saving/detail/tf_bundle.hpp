#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/base/vfs.hpp"

namespace etude {

/// A tensor in a checkpoint of TensorFlow: where its bytes are, and what they are.
struct TfEntry {
  /// A number of TensorFlow's enum DataType.
  std::uint64_t type = 0;
  /// The extents.
  Shape shape;
  /// The number of the file, and the place in it.
  std::uint64_t shard = 0, offset = 0, size = 0;
  /// The masked CRC-32C of the bytes.
  std::uint32_t sum = 0;
  /// Whether the tensor is stored in pieces.
  bool is_sliced = false;
};

/// The files of a checkpoint of TensorFlow: `prefix`.index, a sorted table in the format of LevelDB, and the bytes of
/// its tensors in `prefix`.data-00000-of-00001 and so on. Memory is allocated only for bytes that the files have.
/// Source: tensorflow/core/util/tensor_bundle/tensor_bundle.cc, tensorflow/core/protobuf/tensor_bundle.proto.
class TfBundle {
 public:
  /// Reads and checks the index. Throws Error(data) for a damaged or compressed index, for one of more than 100 MB, and
  /// for one of a machine of the other byte order; Error(io).
  TfBundle(const std::string& prefix, Vfs& files);

  /// The entries of these names that the index has. Throws Error(data) for damaged ones.
  std::map<std::string, TfEntry> find(const std::set<std::string, std::less<>>& names) const;
  /// The text of a scalar string. Throws Error(data) for another entry, for more than 100 MB, and for a wrong checksum.
  std::string text(const std::string& name, const TfEntry& entry);
  /// The value of a tensor of numbers; of int64 as int32. Throws Error(data) for one in pieces, for one beyond the end
  /// of its file, and for a wrong checksum; Error(dtype) for types that Étude does not have.
  Tensor read(const std::string& name, const TfEntry& entry);

 private:
  using Visit = std::function<void(const std::string& key, std::string_view value)>;
  void visit_table(const Visit& visit) const;
  void visit_block(std::string_view block, std::string& key, bool& is_first, const Visit& visit) const;
  std::string_view block_at(std::string_view& handle, std::uint64_t& begin) const;
  FileSource& shard_of(const std::string& name, const TfEntry& entry);

  const std::string prefix_, path_;
  Vfs& files_;
  std::vector<std::byte> index_;
  std::uint64_t shards_ = 1;
  // The file that was read last.
  std::uint64_t shard_ = 0;
  std::string shard_path_;
  std::unique_ptr<FileSource> source_;
};

}  // namespace etude
