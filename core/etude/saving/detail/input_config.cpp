#include "etude/saving/detail/input_config.hpp"

#include <utility>

#include "etude/base/error.hpp"
#include "etude/saving/detail/keras_form.hpp"
#include "etude/saving/detail/nested_json.hpp"

namespace etude {

const Json& array_in(const Json& config, const char* name, const std::string& class_name) {
  const auto found = config.find(name);
  check(found != config.end() && found->is_array(), ErrorKind::data, class_name, "a config without the array \"", name,
        "\" - expected one - check the text.");
  return *found;
}

Json by_name_or_listed(Json tensors, const std::vector<std::string>& names) {
  if (names.empty()) return tensors.size() == 1 ? Json(tensors.front()) : tensors;
  return nested(names, std::move(tensors));
}

Json input_layer_json(const SymbolicTensor& input) {
  return keras_object("layer", "InputLayer",
                      {{"batch_shape", field_json(input.shape(), {})},
                       {"dtype", std::string(name_of(input.dtype()))},
                       {"name", input.name()}});
}

Shape input_shape_in(const Json& config) {
  Shape shape;
  const char* name = config.contains("batch_input_shape") ? "batch_input_shape" : "batch_shape";  // Keras 2, and 3
  read_field(array_in(config, name, "InputLayer"), shape, {"InputLayer", name});
  check(shape.rank() > 0, ErrorKind::data, "InputLayer", "an empty \"batch_shape\" - expected [null, …] - check it.");
  return shape;
}

std::shared_ptr<InputLayer> input_layer_from(const Json& config, const std::string& name) {
  auto dtype = field_in<std::string>(config, "dtype", "InputLayer", "");
  if (dtype == "int64") dtype = "int32";  // the inputs of lookups and embeddings in Keras
  return std::make_shared<InputLayer>(
      InputOptions{.shape = input_shape_in(config).without(0),
                   .dtype = std::move(dtype),
                   .name = name.empty() ? field_in<std::string>(config, "name", "InputLayer", "") : name});
}

}  // namespace etude
