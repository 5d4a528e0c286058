#include "etude/layers/symbolic.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "etude/base/detail/release.hpp"
#include "etude/base/error.hpp"
#include "etude/base/nesting.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

const Shape& SymbolicTensor::shape() const { return call_->outputs[output_].shape; }
DType SymbolicTensor::dtype() const { return call_->outputs[output_].dtype; }
const std::string& SymbolicTensor::name() const { return call_->layer->name(); }

SymbolicTensors::SymbolicTensors(std::initializer_list<std::pair<const std::string, SymbolicTensor>> named) {
  for (const auto& [name, tensor] : std::map<std::string, SymbolicTensor, PathOrder>(named)) {
    names_.push_back(name);
    push_back(tensor);
  }
  check(size() == named.size(), ErrorKind::value, "Functional", named.size(), " tensors by ", size(),
        " names - expected a name for each - give them different names.");
  check_paths(names_, "Functional");
}

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

/// Lists the call in its layer, which forgets calls that no longer exist.
std::shared_ptr<const LayerCall> noted(std::shared_ptr<const LayerCall> call) {
  auto& calls = call->layer->calls_;
  if (calls.size() == calls.capacity())  // not with each of many calls
    std::erase_if(calls, [](const std::weak_ptr<const LayerCall>& each) { return each.expired(); });
  calls.push_back(call);
  return call;
}

InputLayer::InputLayer(const InputOptions& options)
    : Layer("InputLayer", {.name = options.name.empty() ? unique_name("Input") : options.name}),
      shape_(options.shape),
      dtype_(options.dtype.empty() ? floatx() : dtype_from_name(options.dtype)) {
  for (const std::int64_t extent : shape_)
    check(extent > 0 || extent == -1, ErrorKind::shape, "input", "shape ", shape_,
          " - expected positive extents, or -1 for unknown ones, without the batch axis - pass the shape of one "
          "sample.");
  set_built(shape_.with(0, -1));
}

SymbolicTensor InputLayer::tensor() {
  const auto output = LayerCall::Output::of_input(shape_.with(0, -1), dtype_);
  return {noted(std::make_shared<LayerCall>(LayerCall{shared_from_this(), {}, {output}})), 0};
}

SymbolicTensor layers::input(const InputOptions& options) { return std::make_shared<InputLayer>(options)->tensor(); }

Value fitted_to(const SymbolicTensor& input, Value given, const std::string& where) {
  const Shape& wanted = input.shape();
  const Shape shape = given.shape();
  Value x = given;
  if (shape.rank() + 1 == wanted.rank() && wanted[-1] == 1) x = ops::expand_dims(given, -1);
  if (shape.rank() == wanted.rank() + 1 && shape[-1] == 1) x = ops::squeeze(given, -1);
  bool fits = x.shape().rank() == wanted.rank();
  for (std::size_t axis = 1; fits && axis < wanted.rank(); ++axis)
    fits = wanted[static_cast<std::ptrdiff_t>(axis)] == -1 ||
           x.shape()[static_cast<std::ptrdiff_t>(axis)] == wanted[static_cast<std::ptrdiff_t>(axis)];
  check(fits, ErrorKind::shape, where, "data of shape ", shape, " for input \"", input.name(), "\" - expected ", wanted,
        ", where -1 is any extent - check the data.");
  return x.with_mask(given.mask());
}

namespace {

std::string where_of(const Layer& layer) { return std::string(layer.class_name()) + " \"" + layer.name() + '"'; }

/// Ops accept any tensors; a layer's weights must not depend on the batch size, nor its rows be of different samples.
void check_inputs(const LayerPtr& layer, const std::vector<SymbolicTensor>& inputs) {
  check(!inputs.empty(), ErrorKind::value, where_of(*layer),
        "called without an input - expected a SymbolicTensor - pass one, made by input() or apply().");
  if (layer->is_operation()) return;
  for (const SymbolicTensor& x : inputs) {
    const LayerCall::Output& given = x.call()->outputs[x.output()];
    bool rows = given.depends_on_batch(0);
    for (std::size_t axis = 1; axis < given.shape.rank(); ++axis) rows &= !given.depends_on_batch(axis);
    check(rows, ErrorKind::shape, where_of(*layer), "called on a tensor of shape ", given.shape,
          " - expected [batch, ..], with the batch in the first axis alone - move the batch axis there by an op.");
    for (const auto batch : {&LayerCall::Output::of_one, &LayerCall::Output::of_many}) {
      const SymbolicTensor& first = inputs.front();
      const std::int64_t rows_here = (x.call()->outputs[x.output()].*batch)[0];
      const std::int64_t rows_of_first = (first.call()->outputs[first.output()].*batch)[0];
      check(rows_here == rows_of_first, ErrorKind::shape, where_of(*layer), "called on tensors of ", rows_of_first,
            " and ", rows_here, " rows for a batch of ", batch == &LayerCall::Output::of_one ? 1 : SampledShape::many,
            " - expected as many rows in each - reshape one of them by an op.");
    }
  }
}

}  // namespace

std::vector<SymbolicTensor> Layer::apply_all(const std::vector<SymbolicTensor>& inputs) {
  const LayerPtr self = weak_from_this().lock();
  check(self != nullptr, ErrorKind::state, where(),
        "apply() of a layer without a std::shared_ptr - expected a std::shared_ptr, because the model will "
        "keep it - create it by std::make_shared, or by layers::….");
  return etude::apply_all(self, inputs);
}

std::vector<SymbolicTensor> apply_unlisted(const LayerPtr& layer, const std::vector<SymbolicTensor>& inputs) {
  check_inputs(layer, inputs);
  std::vector<LayerCall::Output> given;
  for (const SymbolicTensor& x : inputs) given.push_back(x.call()->outputs[x.output()]);
  const auto call = std::make_shared<const LayerCall>(LayerCall{layer, inputs, sampled_outputs(*layer, given)});
  std::vector<SymbolicTensor> outputs;
  for (std::size_t i = 0; i < call->outputs.size(); ++i) outputs.emplace_back(call, i);
  return outputs;
}

std::vector<SymbolicTensor> apply_all(const LayerPtr& layer, const std::vector<SymbolicTensor>& inputs) {
  std::vector<SymbolicTensor> outputs = apply_unlisted(layer, inputs);
  noted(outputs.front().call());
  return outputs;
}

SymbolicTensor Layer::apply(const std::vector<SymbolicTensor>& inputs) {
  std::vector<SymbolicTensor> outputs = apply_all(inputs);
  check(outputs.size() == 1, ErrorKind::value, where(), outputs.size(),
        " outputs instead of one - expected a layer of one output - use apply_all().");
  return outputs.front();
}

SymbolicTensor Layer::apply(const SymbolicTensor& x) { return apply(std::vector{x}); }

std::vector<std::shared_ptr<const LayerCall>> Layer::calls() const {
  std::vector<std::shared_ptr<const LayerCall>> result;
  for (const std::weak_ptr<const LayerCall>& each : calls_)
    if (auto call = each.lock()) result.push_back(std::move(call));
  return result;
}

namespace {

std::shared_ptr<const LayerCall> only_call(const Layer& layer, const char* what) {
  const auto calls = layer.calls();
  check(calls.size() == 1, ErrorKind::state, where_of(layer), "its ", what, ", but it was called ", calls.size(),
        " times on SymbolicTensors - expected exactly one call - keep the tensor that apply() returns instead.");
  return calls.front();
}

SymbolicTensor only_tensor(const Layer& layer, const std::vector<SymbolicTensor>& tensors, const char* what) {
  check(tensors.size() == 1, ErrorKind::value, where_of(layer), "its ", what, ", of which it has ", tensors.size(),
        " - expected a layer with one - use ", what, "s.");
  return tensors.front();
}

}  // namespace

std::vector<SymbolicTensor> Layer::inputs() const { return only_call(*this, "input")->inputs; }
std::vector<SymbolicTensor> Layer::outputs() const {
  const auto call = only_call(*this, "output");
  std::vector<SymbolicTensor> result;
  for (std::size_t i = 0; i < call->outputs.size(); ++i) result.emplace_back(call, i);
  return result;
}
SymbolicTensor Layer::input() const { return only_tensor(*this, inputs(), "input"); }
SymbolicTensor Layer::output() const { return only_tensor(*this, outputs(), "output"); }

}  // namespace etude
