#pragma once

#include "etude/layers/symbolic.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// A model that is defined from its inputs to its outputs, possibly several. Layers may be used more than once, and
/// graphs may branch and merge. Data, losses, metrics and logs use the names of the input and output layers; if inputs
/// or outputs are a dict, its names; in nested lists and dicts, the paths:
///
///     Functional model({{"age", age}, {"photo", photo}}, {{"price", price}, {"risk", risk}});
///     Functional model({{"image", x}, {"meta/age", a}}, {{"boxes/0", b}, {"boxes/1", c}, {"score", s}});
///
/// Source: keras/src/models/functional.py.
class Functional : public Model {
 public:
  /// An input may be a tensor that a layer computes: the model gets a new input in its place, and shares the layers
  /// after it. Throws Error(value) unless every output depends on the inputs alone, and for two layers of one name;
  /// Error(shape) for an output, such as that of an op, whose first axis is not the batch.
  Functional(const SymbolicTensors& inputs, const SymbolicTensors& outputs, const LayerOptions& options = {});

  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;
  /// Inputs first, then the layers in descending order of their distance to the outputs, as in Keras.
  std::vector<LayerPtr> layers() const override { return layers_; }
  std::vector<std::string> output_names() const override;
  /// The names of the inputs: those of the dict, or else of their InputLayers.
  std::vector<std::string> input_names() const override;
  std::vector<std::string> input_keys() const override { return input_keys_; }
  std::vector<std::string> output_keys() const override { return output_keys_; }

  /// The inputs of the graph.
  std::vector<SymbolicTensor> inputs() const override { return inputs_; }
  /// The outputs of the graph.
  std::vector<SymbolicTensor> outputs() const override { return outputs_; }

 protected:
  std::vector<std::string> connections() const override;
  /// As in Keras an output of a list has the name of its layer: "boxes/dense_1".
  std::vector<std::string> names_in_logs(const std::vector<std::string>& outputs) const override;

 private:
  /// A call of a layer on Values, by their positions in a table.
  struct Step {
    LayerPtr layer;
    std::vector<std::size_t> inputs;
    std::size_t first_output;
  };

  std::vector<SymbolicTensor> inputs_, outputs_;
  std::vector<std::string> input_keys_, output_keys_;
  std::vector<LayerPtr> layers_;
  std::vector<Step> steps_;
  std::vector<std::size_t> input_places_, output_places_;
  std::size_t places_ = 0;
};

}  // namespace etude
