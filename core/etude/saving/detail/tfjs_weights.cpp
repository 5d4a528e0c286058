#include "etude/saving/detail/tfjs_weights.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>

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

Tensor tensor_of(const Weight& weight, std::span<const std::byte> bytes, const ManifestReader& reader) {
  Tensor tensor(weight.shape, weight.dtype);
  const bool is_plain = weight.stored == &float32 || weight.stored == &int32 || weight.stored == &boolean;
  if (is_plain) {
    if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
    reader.require(weight.dtype != DType::boolean || std::ranges::none_of(bytes, is_no_truth), '"', weight.name,
                   "\" with a bool that is neither 0 nor 1");
    return tensor;
  }
  const std::byte* from = bytes.data();
  for (std::int64_t i = 0; i < tensor.size(); ++i, from += weight.stored->bytes) {
    const double number = stored_number(weight, from);
    if (weight.dtype == DType::float32)
      tensor.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(number);
    else
      tensor.data<std::int32_t>()[static_cast<std::size_t>(i)] = rounded(number);
  }
  return tensor;
}

std::vector<std::byte> group_bytes(const Json& paths, const ManifestReader& reader, const std::string& model_json,
                                   Vfs& files) {
  std::vector<std::byte> result;
  for (const Json& path : paths) {
    const std::vector<std::byte> shard = files.read(parent_of(model_json) + '/' + reader.file(path));
    result.insert(result.end(), shard.begin(), shard.end());
  }
  return result;
}

std::string_view name_in_manifest(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float32";
    case DType::int32:
    case DType::uint8: return "int32";
    case DType::boolean: return "bool";
    default: return "";
  }
}

}  // namespace

std::vector<NamedTensor> read_tfjs_weights(const Json& manifest, const std::string& model_json, Vfs& files,
                                           const std::function<bool(const std::string&)>& wanted) {
  const ManifestReader reader(model_json);
  reader.require(manifest.is_array(), "a manifest that is no list");
  std::vector<NamedTensor> result;
  std::unordered_set<std::string> names, paths;
  for (const Json& group : manifest) {
    for (const Json& path : reader.list(group, "paths"))
      reader.require(paths.insert(reader.file(path)).second, "a path twice");
    const std::vector<std::byte> bytes = group_bytes(reader.list(group, "paths"), reader, model_json, files);
    std::uint64_t at = 0;
    for (const Json& entry : reader.list(group, "weights")) {
      const Weight weight = reader.weight(entry);
      reader.require(names.insert(weight.name).second && names.size() <= weights_limit, "two weights \"", weight.name,
                     '"');
      const auto size = bytes_of(weight, bytes.size() - at);
      reader.require(size && *size <= bytes.size() - at, '"', weight.name, "\" beyond the end of its files, byte ",
                     bytes.size());
      const auto place = std::span(bytes).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(*size));
      at += *size;
      if (!wanted || wanted(weight.name)) result.push_back({weight.name, tensor_of(weight, place, reader)});
    }
    reader.require(at == bytes.size(), bytes.size() - at, " bytes in its files after the last weight");
  }
  return result;
}

Json write_tfjs_weights(const std::vector<NamedTensor>& tensors, const std::string& folder, Vfs& files,
                        const std::string& prefix) {
  constexpr std::size_t most = std::size_t{4} << 20;
  Json weights = Json::array(), paths = Json::array();
  std::string all;
  for (const auto& [name, tensor] : tensors) {
    const std::string_view dtype = name_in_manifest(tensor.dtype());
    check(!dtype.empty(), ErrorKind::dtype, "tfjs", '"', name, "\" of ", name_of(tensor.dtype()),
          " - expected float32, int32, uint8 or bool - convert it before.");
    const Tensor stored = tensor.dtype() == DType::uint8 ? tensor.astype(DType::int32) : tensor;
    weights.push_back({{"name", name},
                       {"shape", std::vector<std::int64_t>(stored.shape().begin(), stored.shape().end())},
                       {"dtype", dtype}});
    all.append(reinterpret_cast<const char*>(stored.raw()), stored.bytes());
  }
  const std::size_t count = (all.size() + most - 1) / most;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = prefix + "group1-shard" + std::to_string(i + 1) + "of" + std::to_string(count) + ".bin";
    files.replace(folder + '/' + name, {std::string_view(all).substr(i * most, most)});
    paths.push_back(name);
  }
  return Json::array({{{"paths", std::move(paths)}, {"weights", std::move(weights)}}});
}

}  // namespace etude
