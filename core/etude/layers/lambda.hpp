#pragma once

#include <functional>

#include "etude/layers/layer.hpp"

namespace etude {

/// A function of Values as a layer: f(x), or f({x, ..}) of several inputs, which may return several outputs. Floats are
/// cast to the compute dtype before. The result has no mask unless the function sets one by with_mask(). Variables that
/// the function reads become weights of the layer. It has no config: a model that contains it can save its weights, and
/// is created in code. Throws Error(value) without a function. Source: keras/src/layers/core/lambda_layer.py.
class Lambda : public Layer {
 public:
  /// A function of one input.
  using Function = std::function<Value(Value)>;
  /// A function of a list of inputs.
  using FunctionOfInputs = std::function<Outputs(const std::vector<Value>&)>;
  /// A layer of one input.
  explicit Lambda(Function function, const LayerOptions& options = {});
  /// A layer of several inputs.
  explicit Lambda(FunctionOfInputs function, const LayerOptions& options = {});
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;

 protected:
  Value mask_of(const std::vector<Value>& inputs, Value y) const override;

 private:
  Function function_;
  FunctionOfInputs function_of_inputs_;
};

namespace layers {

/// A layer of a function: `layers::lambda([](Value x) { return ops::square(x); })`.
inline std::shared_ptr<Lambda> lambda(Lambda::Function function, const LayerOptions& options = {}) {
  return std::make_shared<Lambda>(std::move(function), options);
}
/// A layer of a function of several inputs.
inline std::shared_ptr<Lambda> lambda(Lambda::FunctionOfInputs function, const LayerOptions& options = {}) {
  return std::make_shared<Lambda>(std::move(function), options);
}

}  // namespace layers
}  // namespace etude
