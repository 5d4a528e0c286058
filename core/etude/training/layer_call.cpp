#include "etude/base/error.hpp"
#include "etude/devices/devices.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/execution/plan.hpp"
#include "etude/layers/layer.hpp"
#include "etude/training/detail/index_ranges.hpp"

// Calls of a layer on tensors, outside of a step. Layers do not depend on devices.

namespace etude {

Tensor Layer::operator()(const Tensor& x, bool training) { return (*this)(std::vector{x}, training); }

Tensor Layer::operator()(const std::vector<Tensor>& given, bool training) {
  std::vector<Tensor> outputs = call_all(given, training);
  check(outputs.size() == 1, ErrorKind::value, where(), outputs.size(),
        " outputs instead of one - expected a layer of one output - use call_all().");
  return outputs.front();
}

std::vector<Tensor> Layer::call_all(const std::vector<Tensor>& given, bool training) {
  std::vector<Tensor> inputs;
  for (const Tensor& x : given) inputs.push_back(is_floating(x.dtype()) ? x.astype(variable_dtype()) : x);
  return etude::evaluate(get_strategy()->device(), inputs, [&](std::span<const Value> values) -> std::vector<Value> {
    const Outputs outputs = (*this)(std::vector(values.begin(), values.end()), training);
    IndexRanges(Graph::current()).check({inputs, {}, {}});
    return outputs;
  });
}

}  // namespace etude
