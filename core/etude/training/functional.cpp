#include "etude/training/functional.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "etude/base/error.hpp"
#include "etude/base/nesting.hpp"

namespace etude {
namespace {

using CallPtr = std::shared_ptr<const LayerCall>;

/// The calls that outputs depend on, and their layers, in the order of Keras, in which files have the weights.
struct Ordered {
  std::vector<CallPtr> calls;
  std::vector<LayerPtr> layers;
};

/// The layers in the order in which a search from the outputs to the inputs finds them.
std::vector<LayerPtr> layers_from(const std::vector<SymbolicTensor>& outputs) {
  std::vector<LayerPtr> layers;
  std::unordered_set<const void*> visited;
  std::vector<CallPtr> next;
  const auto push = [&](const std::vector<SymbolicTensor>& tensors) {
    for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) next.push_back(tensor->call());
  };
  push(outputs);
  while (!next.empty()) {
    const CallPtr call = std::move(next.back());
    next.pop_back();
    if (!visited.insert(call.get()).second) continue;
    if (visited.insert(call->layer.get()).second) layers.push_back(call->layer);
    push(call->inputs);
  }
  return layers;
}

/// In descending order of the distance to the outputs. A layer that is called several times has its largest distance,
/// also for calls that are found later. Source: keras/src/ops/function.py, map_graph().
Ordered ordered(const std::vector<SymbolicTensor>& outputs) {
  Ordered all{calls_behind(outputs), {}};
  // The longest chain of calls after each call, and each layer; 0 for those of the outputs.
  std::unordered_map<const void*, int> depth;
  for (auto call = all.calls.rbegin(); call != all.calls.rend(); ++call) {
    int& of_layer = depth[(*call)->layer.get()];
    const int own = depth[call->get()] = of_layer = std::max(depth[call->get()], of_layer);
    for (const SymbolicTensor& input : (*call)->inputs)
      depth[input.call().get()] = std::max(depth[input.call().get()], own + 1);
  }
  std::ranges::stable_sort(all.calls, std::greater{}, [&](const CallPtr& call) { return depth[call.get()]; });
  for (LayerPtr& layer : layers_from(outputs)) {
    const auto is_nearer = [&](const LayerPtr& other) { return depth[other.get()] < depth[layer.get()]; };
    all.layers.insert(std::ranges::find_if(all.layers, is_nearer), std::move(layer));
  }
  return all;
}

/// Replaces inputs that a layer computes by new ones. The layers between them and the outputs are called again: the
/// model shares them with the graph from which these inputs are.
void start_at_inner(std::vector<SymbolicTensor>& inputs, std::vector<SymbolicTensor>& outputs) {
  const auto is_inner = [](const SymbolicTensor& tensor) { return !tensor.call()->inputs.empty(); };
  if (std::ranges::none_of(inputs, is_inner)) return;
  using Place = std::pair<const LayerCall*, std::size_t>;
  const auto place_of = [](const SymbolicTensor& tensor) { return Place(tensor.call().get(), tensor.output()); };
  std::map<Place, SymbolicTensor> made;
  for (SymbolicTensor& input : inputs) {
    if (!is_inner(input) || made.contains(place_of(input))) continue;
    const SymbolicTensor start =
        layers::input({.shape = input.shape().without(0), .dtype = std::string(name_of(input.dtype()))});
    made.emplace(place_of(input), start);
  }
  const auto replacement = [&](const SymbolicTensor& tensor) {
    const auto found = made.find(place_of(tensor));
    return found == made.end() ? tensor : found->second;
  };
  const std::vector<CallPtr> calls = calls_behind(outputs);
  std::unordered_set<const LayerCall*> needed;  // those between the new inputs and the outputs
  const auto need = [&](const std::vector<SymbolicTensor>& tensors) {
    for (const SymbolicTensor& tensor : tensors)
      if (!made.contains(place_of(tensor))) needed.insert(tensor.call().get());
  };
  need(outputs);
  for (auto call = calls.rbegin(); call != calls.rend(); ++call)
    if (needed.contains(call->get())) need((*call)->inputs);
  for (const CallPtr& call : calls) {
    if (!needed.contains(call.get()) || call->inputs.empty()) continue;
    std::vector<SymbolicTensor> given;
    for (const SymbolicTensor& input : call->inputs) given.push_back(replacement(input));
    const std::vector<SymbolicTensor> results = apply_unlisted(call->layer, given);
    for (std::size_t i = 0; i < results.size(); ++i) made.insert_or_assign(Place(call.get(), i), results[i]);
  }
  std::ranges::transform(inputs, inputs.begin(), replacement);
  std::ranges::transform(outputs, outputs.begin(), replacement);
}

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

Functional::Functional(const SymbolicTensors& inputs, const SymbolicTensors& outputs, const LayerOptions& options)
    : Model(options, "Functional"),
      inputs_(inputs),
      outputs_(outputs),
      input_keys_(inputs.names()),
      output_keys_(outputs.names()) {
  check(!inputs_.empty() && !outputs_.empty(), ErrorKind::value, where(), inputs_.size(), " inputs and ",
        outputs_.size(), " outputs - expected at least one of each - pass the results of layers::input() and apply().");
  start_at_inner(inputs_, outputs_);
  for (const SymbolicTensor& output : outputs_)
    check(output.call()->outputs[output.output()].depends_on_batch(0), ErrorKind::shape, where(), "an output of shape ",
          output.shape(), " - expected [batch, ..], where -1 is any batch size - give it the batch axis by an op.");
  std::map<CallPtr, std::size_t> places;
  std::unordered_set<const Layer*> known;
  const auto add_layer = [&](const LayerPtr& layer) {
    if (known.insert(layer.get()).second) layers_.push_back(layer);
  };
  for (const SymbolicTensor& input : inputs_) {
    check(places.emplace(input.call(), places_).second, ErrorKind::value, where(), "input \"", input.name(),
          "\" twice - expected different inputs - pass each once.");
    input_places_.push_back(places_++);
    add_layer(input.call()->layer);
  }
  const Ordered all = ordered(outputs_);
  for (const CallPtr& call : all.calls) {
    if (call->inputs.empty()) {
      check(places.contains(call), ErrorKind::value, where(), "the outputs depend on input \"", call->layer->name(),
            "\" - expected it among the inputs - add it.");
      continue;
    }
    Step step{call->layer, {}, places_};
    for (const SymbolicTensor& input : call->inputs) step.inputs.push_back(places.at(input.call()) + input.output());
    steps_.push_back(std::move(step));
    places.emplace(call, places_);
    places_ += call->outputs.size();
  }
  for (const LayerPtr& layer : all.layers) add_layer(layer);
  for (const SymbolicTensor& output : outputs_) output_places_.push_back(places.at(output.call()) + output.output());
  set_built();
  std::set<std::string_view> names;
  for (const LayerPtr& layer : layers_)
    check(names.insert(layer->name()).second, ErrorKind::value, where(), "two layers named \"", layer->name(),
          "\" - expected unique names - rename one of them.");
  static_cast<void>(layers_inside());  // throws if layers are nested too deep
}

std::vector<std::string> Functional::output_names() const {
  return output_keys_.empty() ? layer_names(outputs_) : output_keys_;
}
std::vector<std::string> Functional::input_names() const {
  return input_keys_.empty() ? layer_names(inputs_) : input_keys_;
}

std::vector<std::string> Functional::names_in_logs(const std::vector<std::string>& outputs) const {
  std::vector<std::string> names = Model::names_in_logs(outputs);
  if (outputs != output_keys_) return names;
  const std::vector<std::string> layers = layer_names(outputs_);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const std::size_t last = outputs[i].rfind('/') + 1;
        index_of_part(std::string_view(outputs[i]).substr(last)) >= 0)
      names[i] = (last ? plain_path(outputs[i].substr(0, last - 1)) + '/' : "") + layers[i];
  return names;
}

std::vector<std::string> Functional::connections() const {
  const auto tensor = [](const LayerPtr& layer, std::size_t call, std::size_t output) {
    return layer->name() + '[' + std::to_string(call) + "][" + std::to_string(output) + ']';
  };
  std::vector<std::string> names(places_);
  std::map<LayerPtr, std::size_t> calls;
  std::map<LayerPtr, std::string> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) names[input_places_[i]] = tensor(inputs_[i].call()->layer, 0, 0);
  bool chain = inputs_.size() == 1;
  std::size_t before = 0;  // the position of the previous step's outputs
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto& [layer, given, first_output] = steps_[i];
    const std::size_t call = calls[layer]++, end = i + 1 < steps_.size() ? steps_[i + 1].first_output : places_;
    chain = chain && call == 0 && given.size() == 1 && given.front() >= before;
    before = first_output;
    for (std::size_t place = first_output; place < end; ++place)
      names[place] = tensor(layer, call, place - first_output);
    for (const std::size_t place : given) inputs[layer] += (inputs[layer].empty() ? "" : ", ") + names[place];
  }
  std::vector<std::string> result;
  if (chain) return result;
  for (const LayerPtr& layer : layers_) result.push_back(inputs[layer].empty() ? "-" : inputs[layer]);
  return result;
}

Value Functional::call(Value x, bool training) { return call_with({x}, training); }

Outputs Functional::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() == inputs_.size(), ErrorKind::data, where(), inputs.size(), " inputs - expected ", inputs_.size(),
        " - pass as many.");
  std::vector<Value> values(places_);
  for (std::size_t i = 0; i < inputs.size(); ++i) values[input_places_[i]] = fitted_to(inputs_[i], inputs[i], where());
  for (const Step& step : steps_) {
    std::vector<Value> given;
    for (const std::size_t place : step.inputs) given.push_back(values[place]);
    const Outputs outputs = (*step.layer)(given, training);
    std::ranges::copy(outputs, values.begin() + static_cast<std::ptrdiff_t>(step.first_output));
  }
  Outputs result;
  for (const std::size_t place : output_places_) result.push_back(values[place]);
  return {std::move(result), output_keys_};
}

}  // namespace etude
