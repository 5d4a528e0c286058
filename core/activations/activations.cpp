#include "etude/activations/activations.hpp"

#include "etude/base/catalogue.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"

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

}  // namespace activations
}  // namespace etude
