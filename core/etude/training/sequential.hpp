#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "etude/layers/symbolic.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// A sequence of layers, built on the first batch; or at once, if its first layer is an InputLayer. Source:
/// keras/src/models/sequential.py.
class Sequential : public Model {
 public:
  /// A model of these layers in sequence.
  explicit Sequential(std::vector<LayerPtr> layers = {}, const LayerOptions& options = {});
  ~Sequential() override;
  /// Adds a layer at the end. An InputLayer, layers::input_layer, must be the first: the model knows its input then,
  /// and layers are built when they are added. Throws Error(value) for a null layer, a duplicate name, a layer that
  /// contains this model or would be nested too deep, and an InputLayer that is not the first; Error(state) while a
  /// loop runs.
  void add(LayerPtr layer);
  /// Removes the last layer. Throws Error(state) if there is none, and while a loop runs.
  void pop();

  Value call(Value x, bool training) override;
  /// Without the InputLayer, as in Keras.
  std::vector<LayerPtr> layers() const override { return layers_; }
  /// The input and the output, if it began with an InputLayer; else those of its only call.
  std::vector<SymbolicTensor> inputs() const override;
  std::vector<SymbolicTensor> outputs() const override;
  /// Whether it began with an InputLayer.
  bool has_input() const { return input_.has_value(); }

 private:
  std::vector<LayerPtr> layers_;
  std::optional<SymbolicTensor> input_, output_;  // of a model that began with an InputLayer
  std::set<std::string, std::less<>> names_;
};

}  // namespace etude
