#include "etude/layers/global_pooling.hpp"

#include "etude/base/error.hpp"
#include "etude/layers/data_format.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

GlobalAveragePooling1D::GlobalAveragePooling1D(GlobalAveragePooling1DOptions options)
    : Layer(class_entry<GlobalAveragePooling1D>, options),
      channels_first_(is_channels_first(options.data_format, where())),
      keepdims_(options.keepdims) {
  cast_integers();
}

Value GlobalAveragePooling1D::call(Value x, bool) {
  check(x.shape().rank() == 3, ErrorKind::shape, where(), "input of shape ", x.shape(),
        " - expected [batch, steps, features] - reshape the data.");
  const std::ptrdiff_t steps = channels_first_ ? 2 : 1;
  if (!x.mask()) return ops::mean(x, {steps}, keepdims_);
  const Value wide = ops::upcast(x);
  const Value counts = ops::expand_dims(ops::cast(x.mask(), wide.dtype()), channels_first_ ? 1 : 2);
  return ops::cast(ops::sum(wide * counts, {steps}, keepdims_) / ops::sum(counts, {steps}, keepdims_), x.dtype());
}

}  // namespace etude
