#include "etude/layers/shaping.hpp"

#include "etude/ops/shape.hpp"

namespace etude {

Flatten::Flatten(FlattenOptions options) : Layer("Flatten", {options.name, options.dtype, true}) {}

Value Flatten::call(Value x, bool) {
  return ops::reshape(x, {x.shape()[0], x.shape()[0] ? x.shape().size() / x.shape()[0] : 1});
}

}  // namespace etude
