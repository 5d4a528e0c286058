#include <algorithm>
#include <optional>

#include "etude/base/error.hpp"
#include "etude/saving/detail/safetensors_file.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"

// Writes the weights of models of TensorFlow.js.
namespace etude {
namespace {

constexpr std::uint64_t shard_size = std::uint64_t{4} << 20;

std::string_view name_in_manifest(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float32";
    case DType::int32:
    case DType::uint8: return "int32";
    case DType::boolean: return "bool";
    default: return "";
  }
}

/// Names of shards that do not exist yet: those of TensorFlow.js, or else with a number. When a model
/// is saved again, its shards stay until its model.json is replaced.
std::vector<std::string> free_names(Vfs& files, const std::string& folder, const std::string& prefix,
                                    std::uint64_t count) {
  for (int attempt = 0;; ++attempt) {
    const std::string end = "of" + std::to_string(count) + (attempt ? '-' + std::to_string(attempt) : "") + ".bin";
    std::vector<std::string> names;
    for (std::uint64_t i = 1; i <= count; ++i) names.push_back(prefix + "group1-shard" + std::to_string(i) + end);
    if (std::ranges::none_of(names, [&](const std::string& name) { return files.exists(folder + '/' + name); }))
      return names;
  }
}

/// Bytes in a row that are written to files of 4 MiB. Without finish(), nothing is left of them.
class ShardWriter {
 public:
  ShardWriter(Vfs& files, std::string folder, std::vector<std::string> names)
      : files_(files), folder_(std::move(folder)), names_(std::move(names)) {}
  ~ShardWriter() {
    if (finished_) return;
    file_.reset();
    for (std::size_t i = 0; i < number_; ++i) files_.discard(folder_ + '/' + names_[i]);
  }
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!file_) file_.emplace(files_, folder_ + '/' + names_.at(number_++));
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), shard_size - written_));
      file_->file().append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      written_ += count;
      if (written_ == shard_size) complete();
    }
  }
  /// Completes the last file.
  void finish() {
    complete();
    finished_ = true;
  }

 private:
  void complete() {
    if (file_) file_->commit();
    file_.reset();
    written_ = 0;
  }

  Vfs& files_;
  const std::string folder_;
  const std::vector<std::string> names_;
  std::optional<FileReplacement> file_;
  std::size_t number_ = 0;
  std::uint64_t written_ = 0;  // to the file that is open
  bool finished_ = false;
};

}  // namespace

Json write_tfjs_shards(const std::vector<StoredTensor>& tensors, const std::string& folder, Vfs& files,
                       const std::string& prefix) {
  Json weights = Json::array();
  std::uint64_t bytes = 0;
  for (const StoredTensor& tensor : tensors) {
    const std::string_view dtype = name_in_manifest(tensor.dtype);
    check(!dtype.empty(), ErrorKind::dtype, "tfjs", '"', tensor.name, "\" of ", name_of(tensor.dtype),
          " - expected float32, int32, uint8 or bool - convert it before.");
    weights.push_back({{"name", tensor.name},
                       {"shape", std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end())},
                       {"dtype", dtype}});
    const DType stored = tensor.dtype == DType::uint8 ? DType::int32 : tensor.dtype;
    bytes += static_cast<std::uint64_t>(tensor.shape.size()) * size_of(stored);
  }
  std::vector<std::string> names = free_names(files, folder, prefix, (bytes + shard_size - 1) / shard_size);
  ShardWriter writer(files, folder, names);
  for (const StoredTensor& tensor : tensors) {
    Tensor values = tensor.read();
    if (values.dtype() == DType::uint8) values = values.astype(DType::int32);
    writer.append({reinterpret_cast<const char*>(values.raw()), values.bytes()});
  }
  writer.finish();
  return Json::array({{{"paths", std::move(names)}, {"weights", std::move(weights)}}});
}

Json write_tfjs_weights(const std::vector<NamedTensor>& tensors, const std::string& folder, Vfs& files) {
  return write_tfjs_shards(stored_tensors(tensors), folder, files);
}

}  // namespace etude
