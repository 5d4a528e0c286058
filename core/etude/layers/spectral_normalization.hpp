#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct SpectralNormalizationOptions {
  LayerPtr layer = {};
  std::int64_t power_iterations = 1;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = SpectralNormalizationOptions> static constexpr auto fields() {
    return option_rows(option<&O::layer>("A layer with a kernel or embeddings, such as Conv2D.", Need::required),
                       option<&O::power_iterations>("Iterations in each step by which the spectral norm is estimated."),
                       layer_fields<O>());
  }
};

/// A layer whose kernel has a spectral norm of about 1: in training, the kernel (for Embedding, the embeddings) is
/// divided by its largest singular value before the layer is called, and keeps that value, from which the optimizer
/// continues. Outside training nothing changes. The singular value is estimated by power iterations, from vector_u
/// [1, last extent of the kernel], which is not trained. A layer that is called several times within a step is
/// normalized once. A kernel of zeros stays as it is. Throws Error(value) for power_iterations below 1 or above 100,
/// and for a layer without kernel and embeddings. Source: Miyato et al., "Spectral Normalization for Generative
/// Adversarial Networks" (2018); keras/src/layers/normalization/spectral_normalization.py.
class SpectralNormalization : public Layer {
 public:
  using Options = SpectralNormalizationOptions;
  static constexpr ClassText about{.name = "SpectralNormalization",
                                   .text =
                                       "A layer whose kernel has a spectral norm of about 1: [batch, ..] -> [batch, "
                                       "..].",
                                   .example = R"({"layer": {"class_name": "Dense", "config": {"units": 2}}})"};
  explicit SpectralNormalization(SpectralNormalizationOptions options);
  explicit SpectralNormalization(const LayerPtr& layer)
      : SpectralNormalization(SpectralNormalizationOptions{.layer = layer}) {}
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;
  std::vector<LayerPtr> layers() const override { return {layer_}; }

 private:
  void normalize() const;

  LayerPtr layer_;
  std::int64_t power_iterations_;
  Variable kernel_, vector_u_;
};

namespace layers {
inline constexpr Factory<SpectralNormalization> spectral_normalization;
}  // namespace layers

}  // namespace etude
