#pragma once

#include <string>

#include "etude/training/model.hpp"

namespace etude {

/// Implements Model::export_model.
void export_model(Model& model, const std::string& filepath, const ExportOptions& options);

}  // namespace etude
