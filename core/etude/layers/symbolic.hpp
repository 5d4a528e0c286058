#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "etude/layers/sampled_shape.hpp"

namespace etude {

struct LayerCall;

/// A placeholder for data in a functional model: a shape, a dtype, and the layer's call that returns it. Source:
/// keras/src/backend/common/keras_tensor.py.
class SymbolicTensor {
 public:
  /// An output of a call.
  SymbolicTensor(std::shared_ptr<const LayerCall> call, std::size_t output) : call_(std::move(call)), output_(output) {}

  /// The shape. The extent of the batch axis, which is unknown, is -1. So are other extents that are unknown, and those
  /// that depend on them.
  const Shape& shape() const;
  /// The element type.
  DType dtype() const;
  /// The name of the layer that returns it.
  const std::string& name() const;
  /// The call that returns it.
  const std::shared_ptr<const LayerCall>& call() const { return call_; }
  /// The number of the output of that call.
  std::size_t output() const { return output_; }
  friend bool operator==(const SymbolicTensor&, const SymbolicTensor&) = default;

 private:
  friend struct LayerCall;
  std::shared_ptr<const LayerCall> call_;
  std::size_t output_;
};

/// The inputs, or the outputs, of a functional model: tensors in order, or a dict of them by name, which is in the
/// order of its names, as in Keras. Nested lists and dicts are named by paths:
/// {{"image", x}, {"meta/age", a}, {"meta/sizes/0", s}, {"meta/sizes/1", t}} is Keras's
/// {"image": x, "meta": {"age": a, "sizes": [s, t]}}.
class SymbolicTensors : public std::vector<SymbolicTensor> {
 public:
  using std::vector<SymbolicTensor>::vector;
  /// Tensors in order.
  SymbolicTensors(std::vector<SymbolicTensor> tensors) : std::vector<SymbolicTensor>(std::move(tensors)) {}
  /// A dict: tensors by name. Throws Error(value) for two of one name, and for paths that do not form a structure.
  SymbolicTensors(std::initializer_list<std::pair<const std::string, SymbolicTensor>> named);
  /// A dict, or nested lists and dicts: tensors, and their names, which are in PathOrder; without names a list.
  SymbolicTensors(std::vector<SymbolicTensor> tensors, std::vector<std::string> names)
      : std::vector<SymbolicTensor>(std::move(tensors)), names_(std::move(names)) {}

  /// The names, in the order of the tensors: keys of a dict, or paths in nested lists and dicts; empty for a list.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// A call of a layer in a functional model.
struct LayerCall {
  /// The shape and dtype of an output.
  using Output = SampledShape;
  /// The layer that is called.
  LayerPtr layer;
  /// The inputs of the call; none: an InputLayer.
  std::vector<SymbolicTensor> inputs;
  /// The outputs of the call.
  std::vector<Output> outputs;

  ~LayerCall();
};

/// The outputs of a call of `layer`, as its apply_all() returns them. Models made from these keep this pointer.
std::vector<SymbolicTensor> apply_all(const LayerPtr& layer, const std::vector<SymbolicTensor>& inputs);
/// The same, but the layer does not list the call: its output() stays that of its calls by others.
std::vector<SymbolicTensor> apply_unlisted(const LayerPtr& layer, const std::vector<SymbolicTensor>& inputs);

/// The calls on which tensors depend, each once: a call comes after those on which it depends.
std::vector<std::shared_ptr<const LayerCall>> calls_behind(const std::vector<SymbolicTensor>& tensors);

/// Options of Input.
struct InputOptions {
  /// The shape of one sample: without the batch axis. -1 is an unknown extent: that of each batch may be another one.
  Shape shape = {};
  std::string dtype = {};
  std::string name = {};
  template <class O = InputOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::shape>("Shape of one sample, without the batch axis; -1 is an unknown extent.", Need::required),
        option<&O::dtype>("Type of the data. Default: floatx()."),
        option<&O::name>("Name of the input. Default: a name such as \"input_1\"."));
  }
};

/// An input of a model: returns its data. layers::input calls it; Sequential accepts it as its first layer. Throws
/// Error(shape) for extents below 1 other than -1. Source: keras/src/layers/core/input_layer.py.
class InputLayer : public Layer {
 public:
  /// An input of these options.
  explicit InputLayer(const InputOptions& options);
  Value call(Value x, bool) override { return x; }

  /// Its data as a tensor that layers are called on.
  SymbolicTensor tensor();

 private:
  Shape shape_;
  DType dtype_;
};

/// Data for `input`: `given`, without an axis of extent 1 at its end that is too many, or with one that it lacks.
/// Throws Error(shape) for other shapes; `where` names the model.
Value fitted_to(const SymbolicTensor& input, Value given, const std::string& where);

namespace layers {

/// Starts a functional model: data [batch, *shape] of this dtype (default: floatx()).
///
///     SymbolicTensor x = layers::input({.shape = {784}});
///     SymbolicTensor y = layers::dense({.units = 10})->apply(x);
///     Functional model({x}, {y});
///
/// An extent of -1 is unknown. Batches of different extents there are possible; each one has its own plan:
///
///     SymbolicTensor images = layers::input({.shape = {-1, -1, 3}});
///
/// Throws Error(shape) for other extents below 1.
SymbolicTensor input(const InputOptions& options);
/// The same as a layer, the first of a Sequential, which is then built at once.
inline std::shared_ptr<InputLayer> input_layer(const InputOptions& options) {
  return std::make_shared<InputLayer>(options);
}

}  // namespace layers
}  // namespace etude
