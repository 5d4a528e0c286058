#pragma once

/// Private to core/saving: models that are made of layers, as JSON in Keras's form.
#include <string_view>

#include "etude/saving/json.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// Whether it names a model: Sequential or Functional.
bool is_model_class(const std::string& class_name);

/// Throws Error(value) for a model of another class.
Json model_to_json(const Model& model);
/// The model, its layers made anew and, where the text says for which inputs, built. Throws as from_json does.
ModelPtr model_from_json(const Json& json);

/// How it was compiled; null if it is not. Throws Error(value) for losses and metrics that are functions.
Json compile_to_json(const Model& model);
/// Compiles it so.
void compile_from_json(Model& model, const Json& json);

/// What its layers' random draws depend on.
Json draws_of(const Model& model);
/// Sets that, and says whether any was another one: a step that was traced draws as before. Throws Error(data) for JSON
/// that lacks a layer's.
bool restore_draws(const Model& model, const Json& json, std::string_view where);

}  // namespace etude
