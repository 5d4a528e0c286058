#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/detail/stored_tensor.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/training/load_weights_options.hpp"

namespace etude {

/// Files of weights in all formats that are read: safetensors, npz, and model.json of TensorFlow.js.

/// A file of weights whose format is recognized.
struct WeightsFile {
  std::string path;
  FileFormat format = FileFormat::unknown;
  std::shared_ptr<FileSource> source = {};  // null if there is no file
  std::string text = {};                    // of one of JSON
};
/// Recognizes the format of a file, or of a folder, of the host.
WeightsFile find_weights(const std::string& path, Vfs& files);

/// The tensors of a file of the host, each of which is read when it is requested. Those for whose names `name` returns
/// an empty one are left out. Throws Error(value) for other formats, with the way to convert them, and the errors of
/// each format.
std::vector<StoredTensor> read_weights(const WeightsFile& file, const std::string& where,
                                       const std::function<std::string(const std::string&)>& name);
/// Writes a file, tensor by tensor, in the format that the ending of its name says, .safetensors or .npz.
void write_weights(const std::string& path, const std::vector<StoredTensor>& tensors);

/// Renames by the rules of `map`, one after the other. Throws Error(value) for a rule that is not a regular expression,
/// and Error(state) if the host has none; `where` is the prefix of errors.
std::string renamed(const std::string& name, const std::vector<Renaming>& map, const std::string& where);

/// A kernel of PyTorch, [outputs, inputs, …], as one of Keras, […, inputs, outputs]: of Linear and of convolutions
/// without groups. Throws Error(data) for fewer than two axes.
StoredTensor as_keras_kernel(StoredTensor kernel, const std::string& where);

}  // namespace etude
