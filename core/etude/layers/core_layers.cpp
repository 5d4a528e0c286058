#include "etude/layers/core_layers.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Masking::Masking(const MaskingOptions& options)
    : Layer(class_entry<Masking>, options), mask_value_(options.mask_value) {
  cast_integers();
}

Value Masking::mask_of(const std::vector<Value>& inputs, Value) const {
  const Value x = inputs.front();
  const Value differs = ops::logical_not(ops::equal(x, ops::scalar(mask_value_, x)));
  return ops::cast(ops::max(ops::cast(differs, DType::float32), {-1}), DType::boolean);
}

Value Masking::call(Value x, bool) {
  check(x.shape().rank() >= 2 && x.shape()[-1] > 0, ErrorKind::shape, where(), "input of shape ", x.shape(),
        " - expected [batch, steps, features] - reshape the data.");
  return x * ops::expand_dims(ops::cast(mask_of({x}, x), x.dtype()), -1);
}

ActivityRegularization::ActivityRegularization(const ActivityRegularizationOptions& options)
    : Layer(class_entry<ActivityRegularization>, options) {
  set_activity_regularizer(regularizers::l1_l2({.l1 = options.l1, .l2 = options.l2}));
  cast_integers();
}

IdentityLayer::IdentityLayer(const IdentityOptions& options) : Layer(class_entry<IdentityLayer>, options) {}

}  // namespace etude
