#include "etude/training/sequential.hpp"

#include "etude/base/detail/release.hpp"
#include "etude/base/error.hpp"

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
  check_can_hold(*layer);
  forget_functions("add()");
  layers_.push_back(layer);
  names_.insert(layer->name());
}

void Sequential::pop() {
  check(!layers_.empty(), ErrorKind::state, where(),
        "pop() of a model without layers - expected at least one - add layers first.");
  forget_functions("pop()");
  names_.erase(layers_.back()->name());
  layers_.pop_back();
}

Value Sequential::call(Value x, bool training) {
  for (const LayerPtr& layer : layers_) x = (*layer)(x, training);
  return x;
}

}  // namespace etude
