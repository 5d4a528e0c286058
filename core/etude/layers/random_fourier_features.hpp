#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "etude/layers/layer.hpp"

namespace etude {

struct RandomFourierFeaturesOptions {
  std::int64_t output_dim = 0;
  Choice<Initializer> kernel_initializer = "gaussian";
  std::optional<double> scale = {};
  bool trainable = false;
  std::string name = {};
  std::string dtype = {};
  template <class O = RandomFourierFeaturesOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::output_dim>("Number of features.", Need::required),
        option<&O::kernel_initializer>("Distribution of the frequencies: \"gaussian\" or \"laplacian\", by the "
                                       "kernel that the features approximate, or an initializer."),
        option<&O::scale>("Distance at which the kernel decays, greater than 0. Default: the root of half the "
                          "number of inputs for \"gaussian\", otherwise 1."),
        option<&O::trainable>("Whether the scale is trained."), option<&O::name>("Name of the layer."),
        option<&O::dtype>("Dtype of variables and results, or a policy."));
  }
};

/// cos(x · kernel / scale + bias), with random frequencies and phases that are never trained: [batch, features] ->
/// [batch, output_dim]. The mean of the products of two rows of features, times two, approximates a kernel of their
/// inputs: exp(-|x - y|² / (2 scale²)) for "gaussian", exp(-|x - y| / scale), with the sum of absolute differences, for
/// "laplacian". unscaled_kernel [features, output_dim], bias [output_dim], kernel_scale [1]. Throws Error(value) for
/// numbers of 0 or less and for other names. Source: tf_keras/src/layers/kernelized.py; Rahimi and Recht, 2007.
class RandomFourierFeatures : public Layer {
 public:
  using Options = RandomFourierFeaturesOptions;
  static constexpr ClassText about{.name = "RandomFourierFeatures",
                                   .text =
                                       "Random features whose products approximate a kernel: [batch, features] -> "
                                       "[batch, output_dim].",
                                   .example = R"({"output_dim": 4})"};
  explicit RandomFourierFeatures(RandomFourierFeaturesOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  const RandomFourierFeaturesOptions& options_;
  Variable kernel_, bias_, scale_;
};

namespace layers {
inline constexpr Factory<RandomFourierFeatures> random_fourier_features;
}  // namespace layers

}  // namespace etude
