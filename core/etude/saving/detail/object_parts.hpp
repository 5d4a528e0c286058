#pragma once

/// Private to core/saving: the parts of objects and models in JSON.
#include <string>

#include "etude/saving/detail/json.hpp"

namespace etude {

/// An object's parts: {"class_name": …, "config": {…}}. Throw Error(data).
const std::string& class_name_in(const Json& json);
/// The name under which a custom class is registered: "my_package>Gain"; "" for Étude's classes.
std::string registered_name_in(const Json& json);
const Json& config_in(const Json& json);

/// Whether the name is that of a model: Sequential, Functional, or Model, which Keras 2 calls the second.
bool is_model_class(const std::string& class_name);

/// Whether a text describes a model, rather than another layer: also the model.json of TensorFlow.js.
bool describes_model(const Json& json);

}  // namespace etude
