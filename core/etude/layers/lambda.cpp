#include "etude/layers/lambda.hpp"

#include "etude/base/error.hpp"

namespace etude {

Lambda::Lambda(Function function, const LayerOptions& options)
    : Layer("Lambda", options), function_(std::move(function)) {
  check(static_cast<bool>(function_), ErrorKind::value, where(),
        "no function - expected a function of a Value - pass one.");
}

Lambda::Lambda(FunctionOfInputs function, const LayerOptions& options)
    : Layer("Lambda", options), function_of_inputs_(std::move(function)) {
  check(static_cast<bool>(function_of_inputs_), ErrorKind::value, where(),
        "no function - expected a function of Values - pass one.");
}

Value Lambda::call(Value x, bool) { return function_ ? function_(x) : Value(function_of_inputs_({x})); }

Outputs Lambda::call_with(const std::vector<Value>& inputs, bool training) {
  return function_of_inputs_ ? function_of_inputs_(inputs) : Layer::call_with(inputs, training);
}

Value Lambda::mask_of(const std::vector<Value>&, Value) const { return {}; }

}  // namespace etude
