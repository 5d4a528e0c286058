#pragma once

#include <string>

#include "etude/training/model.hpp"

namespace etude::onnx {

/// The bytes of a file of ONNX that computes what the model does with `training` false. Throws as Model::export_model
/// does.
std::string onnx_file_of(Model& model, const ExportOptions& options);

}  // namespace etude::onnx
