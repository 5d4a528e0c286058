#include "etude/activations/activations.hpp"

#include "etude/base/catalogue.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"

namespace etude {

Value Activation::operator()(Value x) const {
  if (function_) return function_(x);
  return name_.empty() ? x : activations::get(name_)(x);
}

namespace activations {

Activation::Function get(const std::string& name) {
  static const Catalogue<Value (*)(Value)> catalogue("activation", {
                                                                       {"linear", [](Value x) { return x; }},
                                                                       {"relu", ops::relu},
                                                                       {"sigmoid", ops::sigmoid},
                                                                       {"tanh", ops::tanh},
                                                                       {"softmax", ops::softmax},
                                                                       {"softplus", ops::softplus},
                                                                       {"exponential", ops::exp},
                                                                   });
  return catalogue.find(name);
}

Value relu(Value x, const ReluOptions& options) {
  const Value threshold = ops::scalar(options.threshold, x);
  const Value y = ops::where(ops::less(threshold, x), x, (x - threshold) * options.negative_slope);
  return options.max_value ? ops::minimum(y, ops::scalar(*options.max_value, y)) : y;
}

Value softmax(Value x, const std::vector<std::ptrdiff_t>& axes) {
  const Value e = ops::exp(x - ops::stop_gradient(ops::max(x, axes, true)));
  return e / ops::sum(e, axes, true);
}

}  // namespace activations
}  // namespace etude
