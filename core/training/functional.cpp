#include "etude/training/functional.hpp"

#include <algorithm>
#include <map>

#include "etude/base/error.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

using CallPtr = std::shared_ptr<const LayerCall>;

/// The calls that outputs depend on, each behind those that it depends on itself.
class CallOrder {
 public:
  explicit CallOrder(const std::vector<SymbolicTensor>& outputs) {
    for (const SymbolicTensor& output : outputs) visit(output.call());
    // How many calls are behind it at most: the outputs' have none.
    for (auto call = calls_.rbegin(); call != calls_.rend(); ++call)
      for (const SymbolicTensor& input : (*call)->inputs)
        depth_[input.call()] = std::max(depth_[input.call()], depth_[*call] + 1);
    std::ranges::stable_sort(calls_, std::greater{}, [&](const CallPtr& call) { return depth_[call]; });
  }
  const std::vector<CallPtr>& calls() const { return calls_; }

 private:
  void visit(const CallPtr& call) {
    if (!depth_.emplace(call, 0).second) return;
    for (const SymbolicTensor& input : call->inputs) visit(input.call());
    calls_.push_back(call);
  }

  std::map<CallPtr, int> depth_;
  std::vector<CallPtr> calls_;
};

std::vector<std::string> layer_names(const std::vector<SymbolicTensor>& tensors) {
  std::vector<std::string> names;
  for (const SymbolicTensor& tensor : tensors) {
    std::string name = tensor.name();
    for (int number = 1; std::ranges::find(names, name) != names.end(); ++number)
      name = tensor.name() + '_' + std::to_string(number);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

Functional::Functional(std::vector<SymbolicTensor> inputs, std::vector<SymbolicTensor> outputs,
                       const LayerOptions& options)
    : Model(options, "Functional"), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  check(!inputs_.empty() && !outputs_.empty(), ErrorKind::value, where(), inputs_.size(), " inputs and ",
        outputs_.size(), " outputs - expected at least one of each - pass what layers::input() and apply() gave.");
  std::map<CallPtr, std::size_t> places;
  for (const SymbolicTensor& input : inputs_) {
    check(input.call()->inputs.empty(), ErrorKind::value, where(), "an input that layer \"", input.name(),
          "\" computes - expected what layers::input() gave - describe the model from its inputs on.");
    check(places.emplace(input.call(), places_).second, ErrorKind::value, where(), "input \"", input.name(),
          "\" twice - expected different ones - pass each once.");
    input_places_.push_back(places_++);
    layers_.push_back(input.call()->layer);
  }
  const CallOrder order(outputs_);
  for (const CallPtr& call : order.calls()) {
    if (call->inputs.empty()) {
      check(places.contains(call), ErrorKind::value, where(), "the outputs depend on input \"", call->layer->name(),
            "\" - expected it among the inputs - pass it.");
      continue;
    }
    Step step{call->layer, {}, places_};
    for (const SymbolicTensor& input : call->inputs) step.inputs.push_back(places.at(input.call()) + input.output());
    steps_.push_back(std::move(step));
    places.emplace(call, places_);
    places_ += call->outputs.size();
    if (std::ranges::find(layers_, call->layer) == layers_.end()) layers_.push_back(call->layer);
  }
  for (const SymbolicTensor& output : outputs_) output_places_.push_back(places.at(output.call()) + output.output());
  set_built();
  for (std::size_t i = 0; i < layers_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      check(layers_[i]->name() != layers_[j]->name(), ErrorKind::value, where(), "two layers named \"",
            layers_[i]->name(), "\" - expected unique names - give one of them another name.");
}

std::vector<std::string> Functional::output_names() const { return layer_names(outputs_); }
std::vector<std::string> Functional::input_names() const { return layer_names(inputs_); }

/// What was given for an input, in the shape that was described; an axis of extent 1 at the end may be missing or too
/// much.
Value Functional::accept_input(Value given, std::size_t index) const {
  const Shape& wanted = inputs_[index].shape();
  const Shape shape = given.shape();
  Value x = given;
  if (shape.rank() + 1 == wanted.rank() && wanted[-1] == 1) x = ops::expand_dims(given, -1);
  if (shape.rank() == wanted.rank() + 1 && shape[-1] == 1) x = ops::squeeze(given, -1);
  bool fits = x.shape().rank() == wanted.rank();
  for (std::size_t axis = 1; fits && axis < wanted.rank(); ++axis)
    fits = x.shape()[static_cast<std::ptrdiff_t>(axis)] == wanted[static_cast<std::ptrdiff_t>(axis)];
  check(fits, ErrorKind::shape, where(), "data of shape ", shape, " for input \"", inputs_[index].name(),
        "\" - expected ", wanted, ", -1 being any batch size - check the data.");
  return x;
}

Value Functional::call(Value x, bool training) { return call_with({x}, training); }

Outputs Functional::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() == inputs_.size(), ErrorKind::data, where(), inputs.size(), " inputs - expected ", inputs_.size(),
        " - pass one for each.");
  std::vector<Value> values(places_);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[input_places_[i]] = accept_input(inputs[i], i).with_mask(inputs[i].mask());
  for (const Step& step : steps_) {
    std::vector<Value> given;
    for (const std::size_t place : step.inputs) given.push_back(values[place]);
    const Outputs outputs = (*step.layer)(given, training);
    std::ranges::copy(outputs, values.begin() + static_cast<std::ptrdiff_t>(step.first_output));
  }
  Outputs result;
  for (const std::size_t place : output_places_) result.push_back(values[place]);
  return result;
}

}  // namespace etude
