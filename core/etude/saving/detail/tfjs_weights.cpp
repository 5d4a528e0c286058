#include "etude/saving/detail/tfjs_weights.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr std::size_t weights_limit = 1'000'000, rank_limit = 8, name_limit = 4096;

/// How the numbers of a weight are stored: their dtype, the name of that, its bytes.
struct Storing {
  std::string_view name;
  std::size_t bytes;
};
constexpr Storing float32{"float32", 4}, int32{"int32", 4}, boolean{"bool", 1};
constexpr Storing quantized[]{{"uint8", 1}, {"uint16", 2}, {"float16", 2}};

struct Weight {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  const Storing* stored = &float32;
  double scale = 1, min = 0;
};

/// Reads a manifest, and names the model.json in its errors.
class ManifestReader {
 public:
  explicit ManifestReader(const std::string& path) : path_(path) {}

  template <class... Parts> void require(bool ok, const Parts&... what) const {
    check(ok, ErrorKind::data, "tfjs", '"', path_, "\" has ", what...,
          " - expected the weightsManifest of TensorFlow.js - convert the model again.");
  }

  const Json& member(const Json& object, const char* name) const {
    require(object.is_object() && object.contains(name), "an entry without \"", name, '"');
    return object.find(name).value();
  }
  const Json& list(const Json& object, const char* name) const {
    const Json& value = member(object, name);
    require(value.is_array(), '"', name, "\" that is no list");
    return value;
  }
  std::string text(const Json& object, const char* name) const {
    const Json& value = member(object, name);
    require(value.is_string(), '"', name, "\" that is no text");
    return value.get<std::string>();
  }
  double number(const Json& object, const char* name) const {
    const Json& value = member(object, name);
    require(value.is_number() && std::isfinite(value.get<double>()), '"', name, "\" that is no number");
    return value.get<double>();
  }

  /// A file in the folder of the model: its name must not lead elsewhere.
  std::string file(const Json& path) const {
    require(path.is_string(), "a path that is no text");
    std::string name = path.get<std::string>();
    if (name.starts_with("./")) name.erase(0, 2);  // as the downloads of TensorFlow.js are named
    require(!name.empty() && name.size() <= name_limit && name != "." && name != ".." &&
                name.find_first_of(std::string_view("/\\\0", 3)) == name.npos,
            "the path \"", name.substr(0, 40), "\", which is no name in the folder of the model");
    return name;
  }

  Weight weight(const Json& entry) const {
    Weight result;
    result.name = text(entry, "name");
    require(!result.name.empty() && result.name.size() <= name_limit, "a weight's name of ", result.name.size(),
            " bytes");
    const Json& shape = list(entry, "shape");
    require(shape.size() <= rank_limit, '"', result.name, "\" of ", shape.size(), " axes");
    for (const Json& extent : shape) {
      constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
      const std::int64_t size = extent.is_number_integer() ? extent.get<std::int64_t>() : -1;
      require(size >= 0 && size <= most, '"', result.name, "\" with an extent that is no size");
      result.shape.append(size);
    }
    const std::string dtype = text(entry, "dtype");
    check(dtype == "float32" || dtype == "int32" || dtype == "bool", ErrorKind::data, "tfjs", '"', path_, "\": \"",
          result.name, "\" has dtype \"", dtype, "\" - expected float32, int32 or bool - convert it before.");
    result.dtype = dtype == "float32" ? DType::float32 : dtype == "int32" ? DType::int32 : DType::boolean;
    result.stored = dtype == "float32" ? &float32 : dtype == "int32" ? &int32 : &boolean;
    if (entry.contains("quantization")) read_quantization(entry["quantization"], result);
    return result;
  }

 private:
  void read_quantization(const Json& entry, Weight& weight) const {
    const std::string name = text(entry, "dtype");
    const auto* found = std::ranges::find(quantized, name, &Storing::name);
    const bool is_half = name == "float16";
    require(
        found != std::end(quantized) && weight.dtype != DType::boolean && !(is_half && weight.dtype == DType::int32),
        '"', weight.name, "\" quantized to \"", name.substr(0, 40), '"');
    weight.stored = found;
    if (is_half) return;
    weight.scale = number(entry, "scale");
    weight.min = number(entry, "min");
  }

  const std::string& path_;
};

/// The bytes of a weight; none if they are more than `most`.
std::optional<std::uint64_t> bytes_of(const Weight& weight, std::uint64_t most) {
  std::uint64_t bytes = weight.stored->bytes;
  for (const std::int64_t extent : weight.shape)
    if (extent == 0) return 0;
  for (const std::int64_t extent : weight.shape) {
    if (static_cast<std::uint64_t>(extent) > most / bytes) return {};
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

template <class T> T number_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double stored_number(const Weight& weight, const std::byte* from) {
  if (weight.stored->name == "float16") {
    const auto bits = number_at<std::uint16_t>(from);
    return static_cast<float>(std::bit_cast<Float16>(bits));
  }
  const double number =
      weight.stored->bytes == 1 ? std::to_integer<int>(*from) : static_cast<int>(number_at<std::uint16_t>(from));
  return number * weight.scale + weight.min;
}

/// The integer as which TensorFlow.js restores a quantized number: halves are rounded up.
std::int32_t rounded(double number) {
  constexpr double least = std::numeric_limits<std::int32_t>::min(), most = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(std::floor(number + 0.5), least, most));
}

bool is_no_truth(std::byte value) { return value > std::byte{1}; }

/// The files of a group, in a row, of which one is open.
class Shards : public FileSource {
 public:
  Shards(std::shared_ptr<Vfs> files, std::vector<std::string> paths)
      : files_(std::move(files)), paths_(std::move(paths)) {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      open(i);
      ends_.push_back(size() + open_->size());
    }
  }

  std::uint64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  void read(std::uint64_t at, std::span<std::byte> out) override {
    for (; !out.empty();) {
      const auto number = static_cast<std::size_t>(std::ranges::upper_bound(ends_, at) - ends_.begin());
      if (number != opened_) open(number);
      const std::uint64_t begin = number ? ends_[number - 1] : 0;
      const auto piece = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), ends_[number] - at)));
      open_->read(at - begin, piece);
      at += piece.size();
      out = out.subspan(piece.size());
    }
  }

 private:
  void open(std::size_t number) {
    check(number < paths_.size(), ErrorKind::io, "tfjs", "a read after byte ", size(), " of the files of a group",
          " - expected a place in them - get them again.");
    open_.reset();
    open_ = files_->source(paths_[number]);
    opened_ = number;
  }

  const std::shared_ptr<Vfs> files_;
  const std::vector<std::string> paths_;
  std::vector<std::uint64_t> ends_;
  std::unique_ptr<FileSource> open_;
  std::size_t opened_ = 0;
};

/// A weight, and the place of its bytes.
struct Place {
  Weight weight;
  std::shared_ptr<FileSource> source;
  std::uint64_t begin;
  std::string path;  // of the model.json
};

Tensor tensor_at(const Place& place) {
  const Weight& weight = place.weight;
  Tensor tensor = Tensor::uninitialized(weight.shape, weight.dtype);
  const bool is_plain = weight.stored == &float32 || weight.stored == &int32 || weight.stored == &boolean;
  if (is_plain) {
    const std::span<std::byte> bytes(tensor.raw(), tensor.bytes());
    place.source->read(place.begin, bytes);
    ManifestReader(place.path)
        .require(weight.dtype != DType::boolean || std::ranges::none_of(bytes, is_no_truth), '"', weight.name,
                 "\" with a bool that is neither 0 nor 1");
    return tensor;
  }
  constexpr std::int64_t most = std::int64_t{1} << 15;
  const std::size_t size = weight.stored->bytes;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(most, tensor.size())) * size);
  for (std::int64_t done = 0; done < tensor.size(); done += most) {
    const auto piece = std::span(buffer).first(static_cast<std::size_t>(std::min(most, tensor.size() - done)) * size);
    place.source->read(place.begin + static_cast<std::uint64_t>(done) * size, piece);
    auto index = static_cast<std::size_t>(done);
    for (std::size_t at = 0; at < piece.size(); at += size, ++index) {
      const double number = stored_number(weight, piece.data() + at);
      if (weight.dtype == DType::float32)
        tensor.data<float>()[index] = static_cast<float>(number);
      else
        tensor.data<std::int32_t>()[index] = rounded(number);
    }
  }
  return tensor;
}

}  // namespace

std::vector<StoredTensor> tfjs_weights(const Json& manifest, const std::string& model_json,
                                       const std::shared_ptr<Vfs>& files,
                                       const std::function<bool(const std::string&)>& wanted) {
  const ManifestReader reader(model_json);
  reader.require(manifest.is_array(), "a manifest that is no list");
  std::vector<StoredTensor> result;
  std::unordered_set<std::string> names, paths;
  for (const Json& group : manifest) {
    std::vector<std::string> shards;
    for (const Json& path : reader.list(group, "paths")) {
      const std::string name = reader.file(path);
      reader.require(paths.insert(name).second, "a path twice");
      shards.push_back(parent_of(model_json) + '/' + name);
    }
    const auto source = std::make_shared<Shards>(files, std::move(shards));
    const std::uint64_t bytes = source->size();
    std::uint64_t at = 0;
    for (const Json& entry : reader.list(group, "weights")) {
      const Weight weight = reader.weight(entry);
      reader.require(names.insert(weight.name).second && names.size() <= weights_limit, "two weights \"", weight.name,
                     '"');
      const auto size = bytes_of(weight, bytes - at);
      reader.require(size && *size <= bytes - at, '"', weight.name, "\" beyond the end of its files, byte ", bytes);
      if (!wanted || wanted(weight.name)) {
        const Place place{weight, source, at, model_json};
        result.push_back({weight.name, weight.shape, weight.dtype, [place] { return tensor_at(place); }});
      }
      at += *size;
    }
    reader.require(at == bytes, bytes - at, " bytes in its files after the last weight");
  }
  return result;
}

std::vector<NamedTensor> read_tfjs_weights(const Json& manifest, const std::string& model_json, Vfs& files,
                                           const std::function<bool(const std::string&)>& wanted) {
  const std::shared_ptr<Vfs> borrowed(std::shared_ptr<Vfs>(), &files);
  std::vector<NamedTensor> result;
  for (StoredTensor& tensor : tfjs_weights(manifest, model_json, borrowed, wanted))
    result.push_back({std::move(tensor.name), tensor.read()});
  return result;
}

}  // namespace etude
