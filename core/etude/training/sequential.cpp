#include "etude/training/sequential.hpp"

#include "etude/base/detail/release.hpp"
#include "etude/base/error.hpp"
#include "etude/distribute/strategy.hpp"

namespace etude {

Sequential::Sequential(std::vector<LayerPtr> layers, const LayerOptions& options) : Model(options, "Sequential") {
  for (LayerPtr& layer : layers) add(std::move(layer));
}

Sequential::~Sequential() {
  for (LayerPtr& layer : layers_) release(std::move(layer));
}

void Sequential::add(LayerPtr layer) {
  check(layer != nullptr, ErrorKind::value, where(),
        "an empty layer - expected a layer - pass layers::dense({…}) or another layer.");
  check(!names_.contains(layer->name()), ErrorKind::value, where(), "two layers named \"", layer->name(),
        "\" - expected unique names - rename one of them.");
  if (const auto input = std::dynamic_pointer_cast<InputLayer>(layer)) {
    check(!input_ && layers_.empty(), ErrorKind::value, where(), "the InputLayer \"", layer->name(),
          "\" after other layers - expected it first - create the model with it.");
    forget_functions("add()");
    output_ = input_ = input->tensor();
    names_.insert(layer->name());
    return set_built();
  }
  check_can_hold(*layer);
  forget_functions("add()");
  if (input_) {
    const Strategy::Scope scope(strategy());
    const std::vector<SymbolicTensor> outputs = etude::apply_all(layer, {*output_});
    check(outputs.size() == 1, ErrorKind::value, where(), "layer \"", layer->name(), "\" with ", outputs.size(),
          " outputs - expected layers of one output - use a Functional model.");
    output_ = outputs.front();
  }
  layers_.push_back(layer);
  names_.insert(layer->name());
}

void Sequential::pop() {
  check(!layers_.empty(), ErrorKind::state, where(),
        "pop() of a model without layers - expected at least one - add layers first.");
  forget_functions("pop()");
  if (output_) output_ = SymbolicTensor(output_->call()->inputs.front());
  names_.erase(layers_.back()->name());
  layers_.pop_back();
}

std::vector<SymbolicTensor> Sequential::inputs() const { return input_ ? std::vector{*input_} : Layer::inputs(); }
std::vector<SymbolicTensor> Sequential::outputs() const { return output_ ? std::vector{*output_} : Layer::outputs(); }

Value Sequential::call(Value x, bool training) {
  if (input_) x = fitted_to(*input_, x, where());
  for (const LayerPtr& layer : layers_) x = (*layer)(x, training);
  return x;
}

}  // namespace etude
