#include "etude/saving/clone_model.hpp"

#include <unordered_map>

#include "etude/base/error.hpp"
#include "etude/layers/operation.hpp"
#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/shared_objects.hpp"
#include "etude/training/functional.hpp"
#include "etude/training/sequential.hpp"

namespace etude {
namespace {

LayerPtr clone_of(const LayerPtr& layer, const CloneFunction& clone_function) {
  if (const auto* op = dynamic_cast<const Operation*>(layer.get())) return op->copy();
  LayerPtr clone = clone_function ? clone_function(layer) : object_from_json<Layer>(object_to_json<Layer>(*layer));
  check(clone != nullptr, ErrorKind::value, "clone_model", "clone_function returned no layer for \"", layer->name(),
        "\" - expected a layer - return one, or the layer itself.");
  return clone;
}

std::shared_ptr<InputLayer> new_input(const SymbolicTensor& input) {
  return std::make_shared<InputLayer>(InputOptions{
      .shape = input.shape().without(0), .dtype = std::string(name_of(input.dtype())), .name = input.name()});
}

ModelPtr clone_sequential(const Sequential& model, const LayerOptions& options, const CloneFunction& clone_function) {
  std::vector<LayerPtr> layers;
  if (model.has_input()) layers.push_back(new_input(model.inputs().front()));
  for (const LayerPtr& layer : model.layers()) layers.push_back(clone_of(layer, clone_function));
  auto clone = std::make_shared<Sequential>(std::move(layers), options);
  if (model.built() && model.input_shape()) clone->build(build_shape(model));
  return clone;
}

ModelPtr clone_functional(const Functional& model, const LayerOptions& options, const CloneFunction& clone_function) {
  std::unordered_map<const LayerCall*, std::vector<SymbolicTensor>> results;
  std::unordered_map<LayerPtr, LayerPtr> clones;
  const auto cloned = [&](const std::vector<SymbolicTensor>& tensors) {
    std::vector<SymbolicTensor> result;
    for (const SymbolicTensor& tensor : tensors) result.push_back(results.at(tensor.call().get())[tensor.output()]);
    return result;
  };
  std::vector<SymbolicTensor> ends = model.inputs();
  for (const SymbolicTensor& output : model.outputs()) ends.push_back(output);
  for (const auto& call : calls_behind(ends)) {
    if (call->inputs.empty()) {
      results[call.get()] = {new_input({call, 0})->tensor()};
      continue;
    }
    LayerPtr& clone = clones[call->layer];
    if (!clone) clone = clone_of(call->layer, clone_function);
    results[call.get()] = apply_all(clone, cloned(call->inputs));
  }
  return std::make_shared<Functional>(SymbolicTensors(cloned(model.inputs()), model.input_keys()),
                                      SymbolicTensors(cloned(model.outputs()), model.output_keys()), options);
}

}  // namespace

ModelPtr clone_model(const Model& model, const CloneFunction& clone_function) {
  const LayerOptions options{.name = model.name(), .dtype = {}, .trainable = model.trainable()};
  const SharedLayers ids(model);
  const SharedObjects shared;
  if (const auto* sequential = dynamic_cast<const Sequential*>(&model))
    return clone_sequential(*sequential, options, clone_function);
  if (const auto* functional = dynamic_cast<const Functional*>(&model))
    return clone_functional(*functional, options, clone_function);
  fail(ErrorKind::value, "clone_model", "a model of the class ", model.class_name(),
       " - expected a Sequential or a Functional model - create another object of the class.");
}

}  // namespace etude
