#pragma once

#include <string>
#include <utility>
#include <vector>

#include "etude/layers/layer.hpp"

namespace etude {

struct PipelineOptions {
  std::vector<LayerPtr> layers = {};
  std::string name = {};
  template <class O = PipelineOptions> static constexpr auto fields() {
    return option_rows(option<&O::layers>("The layers, in order.", Need::required),
                       option<&O::name>("Name of the layer. Default: \"pipeline\", numbered."));
  }
};

/// Layers in sequence as one layer, such as those that preprocess: x is the input of the first one. Throws Error(value)
/// without layers. Source: keras/src/layers/preprocessing/pipeline.py.
class Pipeline : public Layer {
 public:
  using Options = PipelineOptions;
  static constexpr ClassText about{.name = "Pipeline",
                                   .text = "Layers in sequence, as one layer: [batch, ..] -> [batch, ..].",
                                   .example = R"({"layers": [{"class_name": "Rescaling", "config": {"scale": 0.5}}]})"};
  explicit Pipeline(PipelineOptions options);
  explicit Pipeline(std::vector<LayerPtr> layers) : Pipeline(PipelineOptions{.layers = std::move(layers)}) {}
  Value call(Value x, bool training) override;
  std::vector<LayerPtr> layers() const override { return layers_; }

 private:
  std::vector<LayerPtr> layers_;
};

namespace layers {
inline constexpr Factory<Pipeline> pipeline;
}  // namespace layers

}  // namespace etude
