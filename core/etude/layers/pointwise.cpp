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
  const auto add = [&](const char* name, const Tensor& array) {
    if (!array) return Variable();
    Variable state = add_state(name, array.shape(), variable_dtype());
    state.assign(array);
    return state;
  };
  scale_ = add("scale", options_.scale.array());
  offset_ = add("offset", options_.offset.array());
}

Value Rescaling::call(Value x, bool) {
  x = ops::cast(x, compute_dtype());
  const Value y = scale_ ? x * value_of(scale_) : x * options_.scale.number();
  const Value result = offset_ ? y + value_of(offset_) : y + options_.offset.number();
  check(result.shape() == x.shape(), ErrorKind::shape, where(), "scale and offset for results of shape ",
        result.shape(), " - expected ", x.shape(), ", as the input - pass a number, or one for each channel.");
  return result;
}

}  // namespace etude
