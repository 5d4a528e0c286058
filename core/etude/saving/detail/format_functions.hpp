#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "etude/base/task.hpp"
#include "etude/layers/string_layer.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/reading.hpp"
#include "etude/saving/detail/write_count.hpp"
#include "etude/training/load_weights_options.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// How the files of another library are read and written; null: they are not. The functions are called by address only,
/// so that they are a part of the WebAssembly module, which bindings/parts.mjs names. Arguments outlive the Tasks.
struct FormatFunctions {
  /// The model in a file, compiled as the file says if `compile`.
  Task<ModelPtr> (*load)(const std::string& path, bool compile, Reading& reading) = nullptr;
  void (*save)(const Model& model, const std::string& path, WriteCount& count) = nullptr;
  Task<> (*load_weights)(Model& model, const std::string& path, const LoadWeightsOptions& options,
                         Reading& reading) = nullptr;
  void (*save_weights)(const Model& model, const std::string& path, WriteCount& count) = nullptr;
  /// Returns how to rename the tensors of a file with this text, as named_weights() names those of its model.
  std::function<std::string(const std::string& name)> (*weight_names)(std::string_view text,
                                                                      const std::string& path) = nullptr;
  /// The layers of strings that `load` leaves out, by their names.
  std::map<std::string, std::shared_ptr<StringLayer>> (*load_strings)(const std::string& path) = nullptr;
};

/// The functions of a format; all are null for those of this library, and for those that are not read.
FormatFunctions functions_of(FileFormat format);

}  // namespace etude
