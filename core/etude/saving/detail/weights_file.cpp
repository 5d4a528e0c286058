#include "etude/saving/detail/weights_file.hpp"

#include <cstring>
#include <stdexcept>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/data/npz.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"

namespace etude {
namespace {

constexpr std::string_view expected = "weights as safetensors, as .npz or as a model.json of TensorFlow.js";

std::vector<NamedTensor> arrays_in(std::span<const std::byte> bytes, const std::string& path) {
  std::vector<NamedTensor> result;
  for (auto& [name, tensor] : parse_npz(bytes, path)) result.push_back({name, std::move(tensor)});
  return result;
}

}  // namespace

std::vector<NamedTensor> read_weights(const std::string& path, const std::string& where,
                                      const std::function<std::string(const std::string&)>& name) {
  const std::shared_ptr<Vfs> files = vfs_or_host({}, where);
  if (files->kind(path) != PathKind::file) {
    const FileFormat format = format_of(path, *files);
    const bool is_missing = format == FileFormat::unknown || format == FileFormat::safetensors ||
                            format == FileFormat::npz ||
                            (format == FileFormat::tfjs && files->kind(path) == PathKind::none);
    if (!is_missing || files->exists(path)) refuse_format(format, path, where, expected);
  }
  const std::vector<std::byte> bytes = files->read(path);
  const FileFormat format = format_of(path, bytes);
  const auto wanted = [&](const std::string& each) { return !name(each).empty(); };
  std::vector<NamedTensor> tensors;
  if (format == FileFormat::safetensors) {
    tensors = parse_safetensors(bytes, path, wanted).tensors;
  } else if (format == FileFormat::npz) {
    tensors = arrays_in(bytes, path);
  } else if (format == FileFormat::tfjs) {
    const Json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
    tensors = read_tfjs_weights(json.value("weightsManifest", Json()), path, *files, wanted);
  } else {
    refuse_format(format, path, where, expected);
  }
  std::erase_if(tensors, [&](const NamedTensor& tensor) { return !wanted(tensor.name); });
  return tensors;
}

void write_weights(const std::string& path, const std::vector<NamedTensor>& tensors) {
  if (path.ends_with(".safetensors")) return save_safetensors(path, {tensors});
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const auto& [name, tensor] : tensors) arrays.emplace_back(name, tensor);
  write_npz(path, arrays);
}

std::string renamed(const std::string& name, const std::vector<Renaming>& map, const std::string& where) {
  std::string result = name;
  for (const auto& [pattern, replacement] : map) {
    check(host().replace != nullptr, ErrorKind::state, where,
          "a host without regular expressions - expected one that has them - load the file without map.");
    try {
      result = host().replace(pattern, replacement, result);
    } catch (const std::invalid_argument& error) {
      fail(ErrorKind::value, where, "map with the pattern \"", pattern, "\": ", error.what(),
           " - expected a regular expression - check its brackets and backslashes.");
    }
  }
  return result;
}

Tensor as_keras_kernel(const NamedTensor& kernel, const std::string& where) {
  const Shape& shape = kernel.tensor.shape();
  check(shape.rank() >= 2, ErrorKind::data, where, '"', kernel.name, "\" of shape ", shape,
        " - expected a kernel [outputs, inputs, ...] - let transpose match names of kernels only.");
  const std::int64_t outputs = shape[0], inputs = shape[1];
  Shape turned = shape.slice(2, shape.rank());
  const std::int64_t places = turned.size();
  turned.append(inputs);
  turned.append(outputs);
  Tensor result(turned, kernel.tensor.dtype());
  const std::size_t bytes = size_of(kernel.tensor.dtype());
  const std::byte* from = kernel.tensor.raw();
  for (std::int64_t output = 0; output < outputs; ++output)
    for (std::int64_t input = 0; input < inputs; ++input)
      for (std::int64_t place = 0; place < places; ++place, from += bytes)
        std::memcpy(result.raw() + static_cast<std::size_t>((place * inputs + input) * outputs + output) * bytes, from,
                    bytes);
  return result;
}

}  // namespace etude
