#include "etude/training/sequential.hpp"

#include "etude/base/error.hpp"

namespace etude {

Sequential::Sequential(std::vector<LayerPtr> layers, const LayerOptions& options) : Model(options, "Sequential") {
  for (LayerPtr& layer : layers) add(std::move(layer));
}

void Sequential::add(LayerPtr layer) {
  check(layer != nullptr, ErrorKind::value, where(),
        "an empty layer - expected a layer - pass layers::dense({…}) or another one.");
  for (const LayerPtr& known : layers_)
    check(known->name() != layer->name(), ErrorKind::value, where(), "two layers named \"", layer->name(),
          "\" - expected unique names - give one of them another name.");
  forget_functions("add()");
  layers_.push_back(std::move(layer));
}

void Sequential::pop() {
  check(!layers_.empty(), ErrorKind::state, where(),
        "pop() of a model without layers - expected at least one - add layers first.");
  forget_functions("pop()");
  layers_.pop_back();
}

Value Sequential::call(Value x, bool training) {
  for (const LayerPtr& layer : layers_) x = (*layer)(x, training);
  return x;
}

}  // namespace etude
