#pragma once

#include <string>

#include "etude/classes/field.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// Options of load_model.
struct LoadModelOptions {
  /// Whether it is compiled as it was when it was saved, its optimizer going on where it was.
  bool compile = true;
  static constexpr auto fields() {
    return option_rows(
        option<&LoadModelOptions::compile>("Whether the model is compiled as it was when it was saved."));
  }
};

/// The model that Model::save put into a folder: its layers, made anew and built, their weights, which of them are
/// trainable, and the state of their random draws. Nothing is executed that the folder says: it can name only Étude's
/// classes. No memory is taken for weights before their shapes were compared with those that the folder has. Throws
/// Error(io) where there is no such folder, Error(value) for names of other formats and places, such as "model.keras",
/// Error(data) for a folder that is damaged or holds no model.
ModelPtr load_model(const std::string& folder, const LoadModelOptions& options = {});

/// The model of a text that to_json<Layer>() wrote, with new weights. Throws as from_json<Layer>() does, and
/// Error(value) for a layer that is no model, and Error(state) for weights that memory has no room for.
ModelPtr model_from_json(std::string_view text);

}  // namespace etude
