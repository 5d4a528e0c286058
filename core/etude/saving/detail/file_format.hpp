#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "etude/base/vfs.hpp"

namespace etude {

/// The formats of models and weights that are recognized, also those that are not read.
enum class FileFormat : std::uint8_t {
  unknown,
  etude_folder,  // checkpoints, as Model::save writes them
  keras,         // a ZIP archive with config.json and model.weights.h5
  hdf5,          // a whole model of Keras 2, or weights of Keras 3 (.weights.h5)
  safetensors,
  keras_shards,        // .weights.json, beside its .weights.h5
  safetensors_shards,  // model.safetensors.index.json, beside its files
  npz,
  tfjs,           // model.json, beside its shards
  saved_model,    // of TensorFlow
  tf_checkpoint,  // of TensorFlow
  pickle,         // of Python, also within the ZIP archives of PyTorch
  onnx,
  tflite,
};

/// The format of a file, or of a folder, by its contents and then by its name; by the name alone if there is neither.
/// TensorFlow names checkpoints by the common beginning of their files' names.
FileFormat format_of(const std::string& path, Vfs& files);
/// The format of a file with these contents. JSON is read as a whole for that: `text` gets it. Throws as
/// json_text_in().
FileFormat format_of(const std::string& path, const std::shared_ptr<FileSource>& source, std::string* text = nullptr);

/// The first bytes of a source, as a text: `most`, or all if it has fewer.
std::string beginning_of(FileSource& source, std::uint64_t most);
/// The text of a file of JSON. Throws Error(data) before it is read if it has more bytes than parse_json() takes.
std::string json_text_in(FileSource& source, const std::string& path);

/// Throws Error(value) that names the format and the way to convert it. `expected` is what the caller reads, such as "a
/// file of weights"; `where` is the caller's name in errors.
[[noreturn]] void refuse_format(FileFormat format, const std::string& path, std::string_view where,
                                std::string_view expected);

}  // namespace etude
