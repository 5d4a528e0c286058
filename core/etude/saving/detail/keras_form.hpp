#pragma once

/// Private to core/saving: where configs of Keras 3, Keras 2 and TensorFlow.js differ from the options of a class.
#include <span>
#include <string>
#include <string_view>

#include "etude/classes/class_entry.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude {

/// {"module": "keras.layers", "class_name": "Dense", "config": {…}, "registered_name": null} of an object of one of
/// Étude's classes; `kind` is that of its table: "layer".
Json keras_object(std::string_view kind, std::string_view class_name, Json config);
/// {"module": null, "class_name": "Gain", "config": {…}, "registered_name": "my_package>Gain"} of a custom class.
Json custom_object(std::string_view class_name, std::string_view registered_name, Json config);

/// A model: Functional or Sequential.
Json model_json(bool functional, Json config);

/// A dtype policy as an object.
Json policy_json(std::string_view name);

/// A config of any version with the present names and values of the options of a class. Fields without effect are left
/// out: those of other backends, and those whose value is the only one that Étude has.
Json present_config(std::span<const Field> fields, std::string_view class_name, const Json& config);

}  // namespace etude
