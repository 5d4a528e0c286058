#include "etude/layers/pointwise.hpp"

#include <utility>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

ActivationLayer::ActivationLayer(ActivationOptions options)
    : Layer(class_entry<ActivationLayer>, options), activation_(options.activation) {
  if (!activation_.name().empty()) activations::get(activation_.name());
  cast_integers();
}

Value ActivationLayer::call(Value x, bool) { return activation_(x); }

Rescaling::Rescaling(RescalingOptions options)
    : Layer(class_entry<Rescaling>, std::move(options)), options_(described_options<RescalingOptions>()) {
  for (const auto& [name, given] : {std::pair("scale", &options_.scale), {"offset", &options_.offset}})
    if (const Tensor& array = given->array()) add_state(name, array.shape(), variable_dtype()).assign(array);
}

Value Rescaling::call(Value x, bool) {
  x = ops::cast(x, compute_dtype());
  auto array = own_states().begin();
  const auto value_for = [&](const initializers::ConstantValue& given) {
    return given.array() ? value_of(*array++) : ops::scalar(given.number(), x);
  };
  const Value product = x * value_for(options_.scale), result = product + value_for(options_.offset);
  check(result.shape() == x.shape(), ErrorKind::shape, where(), "a result of shape ", result.shape(), " - expected ",
        x.shape(), ", that of the input - set scale and offset to numbers, or to arrays that broadcast to it.");
  return result;
}

}  // namespace etude
