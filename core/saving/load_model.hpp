#pragma once

#include <string>

#include "etude/training/model.hpp"

namespace etude {

struct LoadModelOptions {
  /// Whether it is compiled as it was when it was saved, its optimizer going on where it was.
  bool compile = true;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("compile", self.compile);
  }
};

/// The model that Model::save put into a folder: its layers, made anew and built, their weights, and the state of their
/// random draws. Nothing is executed that the folder says: it can name only Étude's classes. Throws Error(io) where
/// there is no such folder, Error(data) for one that is damaged or holds no model.
ModelPtr load_model(const std::string& folder, const LoadModelOptions& options = {});

/// The model of a text that to_json<Layer>() wrote, with new weights. Throws as from_json<Layer>() does, and
/// Error(value) for a layer that is no model.
ModelPtr model_from_json(std::string_view text);

}  // namespace etude
