#include "etude/layers/shaping.hpp"

#include <algorithm>

#include "etude/base/detail/checked.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Flatten::Flatten(FlattenOptions options)
    : Layer(class_entry<Flatten>, options), channels_first_(is_channels_first(options.data_format, where())) {}

Value Flatten::call(Value x, bool) {
  if (channels_first_ && x.shape().rank() > 2) {
    std::vector<std::uint8_t> order{0};
    for (std::uint8_t axis = 2; axis < x.shape().rank(); ++axis) order.push_back(axis);
    order.push_back(1);
    x = ops::transpose(x, order);
  }
  return ops::reshape(x, {x.shape()[0], x.shape().rank() ? x.shape().slice(1, x.shape().rank()).size() : 1});
}

Reshape::Reshape(const ReshapeOptions& options)
    : Layer(class_entry<Reshape>, options), target_shape_(options.target_shape) {
  set_supports_masking(false);
  const bool fits = target_shape_.size() < Shape::max_rank && std::ranges::count(target_shape_, -1) <= 1 &&
                    std::ranges::all_of(target_shape_, [](std::int64_t extent) { return extent >= -1; });
  check(fits, ErrorKind::value, where(), "target_shape = ", Integers(target_shape_), " - expected at most ",
        Shape::max_rank - 1, " extents of 0 or more, of which one may be -1 - set target_shape.");
}

Value Reshape::call(Value x, bool) {
  Shape shape{x.shape()[0]};
  const std::int64_t size = x.shape().slice(1, x.shape().rank()).size();
  std::int64_t known = 1, left = 0;
  for (const std::int64_t extent : target_shape_)
    if (extent >= 0) known = checked::multiply(known, extent, where());
  const bool guesses = std::ranges::count(target_shape_, -1) > 0;
  if (guesses && known > 0) left = size / known;
  for (const std::int64_t extent : target_shape_) shape.append(extent < 0 ? left : extent);
  check(guesses ? known > 0 && size % known == 0 : size == known, ErrorKind::shape, where(), "input of shape ",
        x.shape(), " for target_shape = ", Integers(target_shape_), " - expected samples of as many elements - set ",
        "target_shape, or check the data.");
  return ops::reshape(x, shape);
}

Permute::Permute(const PermuteOptions& options) : Layer(class_entry<Permute>, options) {
  set_supports_masking(false);
  order_.push_back(0);
  for (std::size_t axis = 1; axis <= options.dims.size(); ++axis) {
    check(
        options.dims.size() < Shape::max_rank && std::ranges::count(options.dims, static_cast<std::int64_t>(axis)) == 1,
        ErrorKind::value, where(), "dims = ", Integers(options.dims),
        " - expected each of 1, 2, .. once: the axes of a sample - set dims.");
    order_.push_back(static_cast<std::uint8_t>(options.dims[axis - 1]));
  }
}

Value Permute::call(Value x, bool) {
  check(x.shape().rank() == order_.size(), ErrorKind::shape, where(), "input of shape ", x.shape(), " - expected ",
        order_.size() - 1, " axes behind the batch axis - set dims, or reshape the data.");
  return ops::transpose(x, order_);
}

RepeatVector::RepeatVector(const RepeatVectorOptions& options)
    : Layer(class_entry<RepeatVector>, options), n_(options.n) {
  check(n_ > 0, ErrorKind::value, where(), "n = ", n_, " - expected a positive number - set n.");
}

Value RepeatVector::call(Value x, bool) {
  check(x.shape().rank() == 2, ErrorKind::shape, where(), "input of shape ", x.shape(),
        " - expected [batch, features] - reshape the data.");
  return ops::broadcast_to(ops::expand_dims(x, 1), {x.shape()[0], n_, x.shape()[1]});
}

}  // namespace etude
