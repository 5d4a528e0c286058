#include "etude/layers/shaping.hpp"

#include "etude/layers/data_format.hpp"
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

}  // namespace etude
