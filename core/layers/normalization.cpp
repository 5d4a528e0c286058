#include "etude/layers/normalization.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

LayerNormalization::LayerNormalization(LayerNormalizationOptions options)
    : Layer("LayerNormalization", {options.name, options.dtype, options.trainable}), options_(std::move(options)) {
  check(!options_.axis.empty(), ErrorKind::value, where(), "no axis - expected one or more - choose axis = -1.");
}

std::vector<std::ptrdiff_t> LayerNormalization::axes_of(const Shape& input_shape) const {
  std::vector<std::ptrdiff_t> axes;
  for (const std::int64_t axis : options_.axis.all())
    axes.push_back(static_cast<std::ptrdiff_t>(input_shape.axis(static_cast<std::ptrdiff_t>(axis), where())));
  return axes;
}

void LayerNormalization::build(const Shape& input_shape) {
  Shape shape;
  for (const std::ptrdiff_t axis : axes_of(input_shape)) shape.append(input_shape[axis]);
  if (options_.scale || options_.rms_scaling) gamma_ = add_weight({"gamma", shape, options_.gamma_initializer});
  if (options_.center && !options_.rms_scaling) beta_ = add_weight({"beta", shape, options_.beta_initializer});
}

Value LayerNormalization::call(Value x, bool) {
  const std::vector<std::ptrdiff_t> axes = axes_of(x.shape());
  Shape along(x.shape());
  for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(along.rank()); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) along[axis] = 1;
  const auto value_along = [&](const Variable& weight) {
    check(weight.size() == along.size(), ErrorKind::shape, where(), "input of shape ", x.shape(), " - expected axes ",
          options_.axis, " of shape ", weight.shape(), ", for which it was built - build a new one or check the data.");
    return ops::reshape(value_of(weight), along);
  };
  const Value centered = x - ops::mean(x, axes, true);
  const Value deviation = ops::sqrt(ops::mean(ops::square(centered), axes, true) + options_.epsilon);
  Value y = (options_.rms_scaling ? x : centered) * (1 / deviation);
  if (gamma_) y = y * value_along(gamma_);
  return beta_ ? y + value_along(beta_) : y;
}

}  // namespace etude
