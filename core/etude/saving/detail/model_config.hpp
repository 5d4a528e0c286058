#pragma once

/// Private to core/saving: models that are made of layers, as JSON in Keras's form.
#include <string_view>

#include "etude/saving/detail/json.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// The shape for which a model is built, which must have one: with any batch size, unless its layers depend on one.
Shape build_shape(const Model& model);

/// Throws Error(value) for a model of another class.
Json model_to_json(const Model& model);
/// The model with new layers, built if the text has the shapes of its inputs. Throws as from_json does.
ModelPtr model_from_json(const Json& json);

/// The same, with Keras's compile_config if the model is compiled. The text of a model that was compiled with functions
/// lacks it.
Json compiled_to_json(const Model& model);
/// The same, compiled if the text has a compile_config, or Keras 2's training_config. Reads model.json of
/// TensorFlow.js, too, which has the description within. Throws Error(value) for a text that describes no model.
ModelPtr compiled_from_json(const Json& json);
/// Compiles a model if its text has a compile_config, or Keras 2's training_config.
void compile_as_described(Model& model, const Json& json);

/// The arguments of compile(); null if the model is not compiled. Throws Error(value) for losses and metrics that are
/// functions.
Json compile_to_json(const Model& model);
/// Compiles the model with them.
void compile_from_json(Model& model, const Json& json);

/// The state on which its layers' random draws depend.
Json draws_of(const Model& model);
/// Sets that state and returns whether any of it changed: a step that was already traced draws as before. Throws
/// Error(data) for JSON that lacks a layer's state.
bool restore_draws(const Model& model, const Json& json, std::string_view where);

}  // namespace etude
