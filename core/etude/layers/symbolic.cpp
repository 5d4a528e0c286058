#include "etude/layers/symbolic.hpp"

#include <unordered_set>

#include "etude/base/detail/release.hpp"
#include "etude/base/error.hpp"

namespace etude {

const Shape& SymbolicTensor::shape() const { return call_->outputs[output_].shape; }
DType SymbolicTensor::dtype() const { return call_->outputs[output_].dtype; }
const std::string& SymbolicTensor::name() const { return call_->layer->name(); }

LayerCall::~LayerCall() {
  for (SymbolicTensor& input : inputs) release(std::move(input.call_));
  release(std::move(layer));
}

std::vector<std::shared_ptr<const LayerCall>> calls_behind(const std::vector<SymbolicTensor>& tensors) {
  std::vector<std::shared_ptr<const LayerCall>> result;
  std::unordered_set<const LayerCall*> seen;
  std::vector<std::pair<std::shared_ptr<const LayerCall>, std::size_t>> path;  // a call, and which input is next
  const auto enter = [&](const SymbolicTensor& tensor) {
    if (seen.insert(tensor.call().get()).second) path.emplace_back(tensor.call(), 0);
  };
  for (const SymbolicTensor& tensor : tensors) {
    enter(tensor);
    while (!path.empty()) {
      const std::shared_ptr<const LayerCall> call = path.back().first;
      if (path.back().second < call->inputs.size()) {
        enter(call->inputs[path.back().second++]);
      } else {
        result.push_back(call);
        path.pop_back();
      }
    }
  }
  return result;
}

SymbolicTensor layers::input(const InputOptions& options) {
  for (const std::int64_t extent : options.shape)
    check(extent > 0, ErrorKind::shape, "input", "shape ", options.shape,
          " - expected positive extents, without the batch axis - pass the shape of one sample.");
  const DType dtype = options.dtype.empty() ? floatx() : dtype_from_name(options.dtype);
  const Shape shape = options.shape.with(0, -1);
  const auto layer = std::make_shared<InputLayer>(options.name.empty() ? unique_name("Input") : options.name, shape);
  return {std::make_shared<LayerCall>(LayerCall{layer, {}, {{shape, dtype}}}), 0};
}

std::vector<SymbolicTensor> Layer::apply_all(const std::vector<SymbolicTensor>& inputs) {
  const LayerPtr self = weak_from_this().lock();
  check(self != nullptr, ErrorKind::state, where(),
        "apply() of a layer without a std::shared_ptr - expected a std::shared_ptr, because the model will "
        "keep it - create it by std::make_shared, or by layers::….");
  return etude::apply_all(self, inputs);
}

/// The layer is called once on a batch of one, in a trace that is discarded: that builds it, and determines the
/// outputs.
std::vector<SymbolicTensor> apply_all(const LayerPtr& layer, const std::vector<SymbolicTensor>& inputs) {
  const std::string where = std::string(layer->class_name()) + " \"" + layer->name() + '"';
  auto call = std::make_shared<LayerCall>(LayerCall{layer, inputs, {}});
  Graph graph;
  const Trace trace(graph);
  std::vector<Value> values;
  for (const SymbolicTensor& x : inputs) {
    Shape shape = x.shape();
    shape[0] = 1;
    values.push_back(graph.input(shape, x.dtype()));
  }
  std::vector<SymbolicTensor> outputs;
  for (const Value& y : (*layer)(values)) {
    check(y.shape().rank() > 0 && y.shape()[0] == 1, ErrorKind::shape, where, "an output of shape ", y.shape(),
          " for a batch of one - expected [batch, ..] - use layers that keep the batch axis.");
    Shape shape = y.shape();
    shape[0] = -1;
    call->outputs.push_back({shape, y.dtype()});
    outputs.emplace_back(call, outputs.size());
  }
  return outputs;
}

SymbolicTensor Layer::apply(const std::vector<SymbolicTensor>& inputs) {
  std::vector<SymbolicTensor> outputs = apply_all(inputs);
  check(outputs.size() == 1, ErrorKind::value, where(), outputs.size(),
        " outputs instead of one - expected a layer of one output - use apply_all().");
  return outputs.front();
}

SymbolicTensor Layer::apply(const SymbolicTensor& x) { return apply(std::vector{x}); }

}  // namespace etude
