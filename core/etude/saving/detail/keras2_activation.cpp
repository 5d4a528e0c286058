#include "etude/saving/detail/keras2_activation.hpp"

#include <memory>
#include <string>

#include "etude/activations/activations.hpp"
#include "etude/base/detail/canonical_name.hpp"
#include "etude/classes/class_table.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {
namespace {

Value hard_sigmoid(Value x) { return ops::clip(x * 0.2 + 0.5, 0, 1); }

// The class has another name than those of Étude, so that it can be registered.
constexpr ClassEntry entry{"Keras2HardSigmoid",
                           "keras2_hard_sigmoid",
                           "",
                           {},
                           [] { return std::shared_ptr<void>(); },
                           [](void*) -> std::shared_ptr<void> {
                             Value (*function)(Value) = hard_sigmoid;
                             return std::make_shared<Activation::Function>(function);
                           }};

/// The name of an activation, of which Keras 2.13 and later make an object: {"class_name": "function", "config": …}.
Json& name_in(Json& activation) {
  return activation.is_object() && activation.contains("config") ? activation["config"] : activation;
}

void rename_all(Json& json) {
  if (json.is_object())
    for (const auto& [name, value] : json.items()) {
      if (!name.ends_with("activation")) continue;
      Json& activation = name_in(value);
      if (activation.is_string() && canonical_name(activation.get_ref<const std::string&>()) == "hardsigmoid")
        activation = keras2_hard_sigmoid;
    }
  if (!json.is_structured()) return;
  for (Json& each : json) rename_all(each);
}

}  // namespace

void register_keras2_hard_sigmoid() {
  const std::size_t end = keras2_hard_sigmoid.find('>');
  class_table<Activation>().add(entry, keras2_hard_sigmoid.substr(0, end), keras2_hard_sigmoid.substr(end + 1));
}

void rename_activations(Json& json, std::string_view version) {
  if (!version.empty() && !version.starts_with('3')) rename_all(json);
}

}  // namespace etude
