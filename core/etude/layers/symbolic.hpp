#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct LayerCall;

/// What stands for data while a model is described: a shape, a dtype, and the call of a layer that gives it. Source:
/// keras/src/backend/common/keras_tensor.py.
class SymbolicTensor {
 public:
  /// An output of a call.
  SymbolicTensor(std::shared_ptr<const LayerCall> call, std::size_t output) : call_(std::move(call)), output_(output) {}

  /// The batch axis, whose extent is not known yet, is -1.
  const Shape& shape() const;
  /// The element type.
  DType dtype() const;
  /// The name of the layer that gives it.
  const std::string& name() const;
  /// The call that gives it, and as which of its outputs.
  const std::shared_ptr<const LayerCall>& call() const { return call_; }
  /// Which of the call's outputs it is.
  std::size_t output() const { return output_; }
  friend bool operator==(const SymbolicTensor&, const SymbolicTensor&) = default;

 private:
  friend struct LayerCall;
  std::shared_ptr<const LayerCall> call_;
  std::size_t output_;
};

/// One use of a layer in a description.
struct LayerCall {
  /// The shape and dtype of an output.
  struct Output {
    /// Its extents, batch axis included; -1 where any will do.
    Shape shape;
    /// Its element type.
    DType dtype;
  };
  /// The layer that is called.
  LayerPtr layer;
  /// What it is called with; none: an InputLayer.
  std::vector<SymbolicTensor> inputs;  // none: an InputLayer
  /// What the call gives.
  std::vector<Output> outputs;

  ~LayerCall();
};

/// The calls that tensors depend on, each once: a call comes after those that it depends on itself.
std::vector<std::shared_ptr<const LayerCall>> calls_behind(const std::vector<SymbolicTensor>& tensors);

/// Options of Input.
struct InputOptions {
  /// Of one sample: without the batch axis.
  Shape shape = {};
  std::string dtype = {};
  std::string name = {};
  static constexpr auto fields() {
    return option_rows(option<&InputOptions::shape>("Shape of one sample, without the batch axis.", Need::required),
                       option<&InputOptions::dtype>("Type of the data. Default: floatx()."),
                       option<&InputOptions::name>("Name of the input. Default: one such as \"input_1\"."));
  }
};

/// Where a model's data comes in: passes it on. Made by layers::input.
class InputLayer : public Layer {
 public:
  /// `shape` is that of its data, the batch axis included.
  InputLayer(const std::string& name, const Shape& shape) : Layer("InputLayer", {.name = name}) { set_built(shape); }
  Value call(Value x, bool) override { return x; }
};

namespace layers {

/// Begins the description of a model: data [batch, *shape] of this dtype (default: floatx()).
///
///     SymbolicTensor x = layers::input({.shape = {784}});
///     SymbolicTensor y = layers::dense({.units = 10})->apply(x);
///     Functional model({x}, {y});
///
/// Throws Error(shape) for extents below 1.
SymbolicTensor input(const InputOptions& options);

}  // namespace layers
}  // namespace etude
