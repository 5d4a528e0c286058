#pragma once

#include "etude/saving/detail/onnx/onnx_file.hpp"
#include "etude/training/model.hpp"

namespace etude::onnx {

/// A file of ONNX that computes what the model does with `training` false. Throws as Model::export_model
/// does.
FileContents onnx_file_of(Model& model, const ExportOptions& options);

}  // namespace etude::onnx
