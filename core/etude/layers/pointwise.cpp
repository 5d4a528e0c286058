#include "etude/layers/pointwise.hpp"

#include "etude/ops/elementwise.hpp"

namespace etude {

ActivationLayer::ActivationLayer(ActivationOptions options)
    : Layer(class_entry<ActivationLayer>, options), activation_(options.activation) {
  if (!activation_.name().empty()) activations::get(activation_.name());
  cast_integers();
}

Value ActivationLayer::call(Value x, bool) { return activation_(x); }

Rescaling::Rescaling(RescalingOptions options)
    : Layer(class_entry<Rescaling>, options), scale_(options.scale), offset_(options.offset) {}

Value Rescaling::call(Value x, bool) { return ops::cast(x, compute_dtype()) * scale_ + offset_; }

}  // namespace etude
