#include "etude/layers/pipeline.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

namespace etude {

Pipeline::Pipeline(PipelineOptions options) : Layer(class_entry<Pipeline>, std::move(options)) {
  layers_ = described_options<PipelineOptions>().layers;
  check(!layers_.empty() && std::ranges::find(layers_, nullptr) == layers_.end(), ErrorKind::value, where(),
        "no layers, or an empty one - expected at least one layer - set layers.");
  for (const LayerPtr& layer : layers_) check_can_hold(*layer);
  keep_input_dtype();
  set_supports_masking(false);
}

Value Pipeline::call(Value x, bool training) {
  for (const LayerPtr& layer : layers_) x = (*layer)(x, training);
  return x;
}

}  // namespace etude
