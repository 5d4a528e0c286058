#include "etude/saving/detail/weights_file.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/data/detail/npz_arrays.hpp"
#include "etude/saving/detail/checkpoint_format.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/safetensors_file.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"
#include "etude/saving/detail/weights_shards.hpp"

namespace etude {
namespace {

constexpr std::string_view expected =
    "weights as safetensors, as .npz, in the folder of a saved model, or as a model.json of TensorFlow.js";

}  // namespace

WeightsFile find_weights(const std::string& path, Vfs& files) {
  WeightsFile file{.path = path};
  if (files.kind_through_links(path) == PathKind::file) {
    file.source = files.source(path);
    file.format = format_of(path, file.source, &file.text);
  } else {
    file.format = format_of(path, files);
  }
  return file;
}

std::vector<StoredTensor> read_weights(const WeightsFile& file, const std::string& where,
                                       const std::function<std::string(const std::string&)>& name) {
  const std::shared_ptr<Vfs> files = vfs_or_host({}, where);
  const auto& [path, format, source, text] = file;
  if (!source && format != FileFormat::etude_folder) {
    const bool is_missing = format == FileFormat::unknown || format == FileFormat::safetensors ||
                            format == FileFormat::npz ||
                            (format == FileFormat::tfjs && files->kind(path) == PathKind::none);
    if (!is_missing || files->exists(path)) refuse_format(format, path, where, expected);
    static_cast<void>(files->source(path));  // throws with the system's reason
    fail_at_path(path, "read", "there was no such file before");
  }
  const auto wanted = [&](const std::string& each) { return !name(each).empty(); };
  std::vector<StoredTensor> tensors;
  if (format == FileFormat::etude_folder) {
    auto group = newest_stored_group(path, "model", *files);
    check(group.has_value(), ErrorKind::io, where, '"', path,
          "\" holds no model - expected a folder that Model::save wrote - check the path.");
    tensors = std::move(*group);
  } else if (format == FileFormat::safetensors) {
    tensors = open_safetensors(source, path, wanted).tensors;
  } else if (format == FileFormat::safetensors_shards) {
    tensors = safetensors_shards(text, path, *files, wanted);
  } else if (format == FileFormat::npz) {
    visit_npz_arrays(source, path, [&](const StoredTensor& array) { tensors.push_back(array); });
  } else if (format == FileFormat::tfjs) {
    tensors = tfjs_weights(parse_json(text, path).value("weightsManifest", Json()), path, files, wanted);
  } else {
    refuse_format(format, path, where, expected);
  }
  std::erase_if(tensors, [&](const StoredTensor& tensor) { return !wanted(tensor.name); });
  return tensors;
}

void write_weights(const std::string& path, const std::vector<StoredTensor>& tensors) {
  if (path.ends_with(".safetensors"))
    write_safetensors(path, tensors, {}, *vfs_or_host({}, "save_safetensors"));
  else
    write_npz_arrays(path, tensors.size(), [&](std::size_t i) { return tensors[i]; });
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

StoredTensor as_keras_kernel(StoredTensor kernel, const std::string& where) {
  const Shape shape = kernel.shape;
  check(shape.rank() >= 2, ErrorKind::data, where, '"', kernel.name, "\" of shape ", shape,
        " - expected a kernel [outputs, inputs, ...] - let transpose match names of kernels only.");
  Shape turned = shape.slice(2, shape.rank());
  turned.append(shape[1]);
  turned.append(shape[0]);
  kernel.shape = turned;
  kernel.read = [turned, read = std::move(kernel.read)] {
    const Tensor given = read();
    const std::int64_t outputs = given.shape()[0], inputs = given.shape()[1];
    const std::int64_t places = turned.slice(0, turned.rank() - 2).size();
    Tensor result = Tensor::uninitialized(turned, given.dtype());
    const std::size_t bytes = size_of(given.dtype());
    const std::byte* from = given.raw();
    for (std::int64_t output = 0; output < outputs; ++output)
      for (std::int64_t input = 0; input < inputs; ++input)
        for (std::int64_t place = 0; place < places; ++place, from += bytes)
          std::memcpy(result.raw() + static_cast<std::size_t>((place * inputs + input) * outputs + output) * bytes,
                      from, bytes);
    return result;
  };
  return kernel;
}

}  // namespace etude
