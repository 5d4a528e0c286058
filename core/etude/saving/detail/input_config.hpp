#pragma once

/// Private to core/saving: the fields of a model's config, and InputLayers in Keras's form.
#include <memory>
#include <string>
#include <vector>

#include "etude/layers/symbolic.hpp"
#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude {

/// An array in a config. Throws Error(data) if it is missing.
const Json& array_in(const Json& config, const char* name, const std::string& class_name);

/// A field of a model's config; `otherwise` if it is missing.
template <class T> T field_in(const Json& config, const char* name, const std::string& class_name, T otherwise) {
  const auto found = config.find(name);
  if (found != config.end() && !found->is_null()) read_field(*found, otherwise, {class_name, name});
  return otherwise;
}

/// Tensors in Keras's form: a list, the only one by itself, or nested objects and arrays if they have names.
Json by_name_or_listed(Json tensors, const std::vector<std::string>& names);

/// The InputLayer of an input.
Json input_layer_json(const SymbolicTensor& input);
/// The shape of an InputLayer, batch axis included. Throws Error(data) for an empty one.
Shape input_shape_in(const Json& config);
/// The InputLayer of a config, without its batch size.
std::shared_ptr<InputLayer> input_layer_from(const Json& config, const std::string& name = "");

}  // namespace etude
