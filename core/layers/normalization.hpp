#pragma once

#include "etude/base/integers.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct LayerNormalizationOptions {
  Integers axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  bool rms_scaling = false;
  Choice<Initializer> beta_initializer = "zeros";
  Choice<Initializer> gamma_initializer = "ones";
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("epsilon", self.epsilon);
    visit("center", self.center);
    visit("scale", self.scale);
    visit("rms_scaling", self.rms_scaling);
    visit("beta_initializer", self.beta_initializer);
    visit("gamma_initializer", self.gamma_initializer);
    visit("name", self.name);
    visit("dtype", self.dtype);
    visit("trainable", self.trainable);
  }
};

/// (x - mean) / sqrt(variance + epsilon) · gamma + beta, mean and variance over `axis`; gamma and beta have the extents
/// of those axes. With rms_scaling x / sqrt(variance + epsilon) · gamma, without beta.
/// Throws Error(value) without an axis, Error(shape) for axes that the input does not have or extents that it was not
/// built for. Source: Ba et al., "Layer Normalization" (2016); keras/src/layers/normalization/layer_normalization.py.
class LayerNormalization : public Layer {
 public:
  explicit LayerNormalization(LayerNormalizationOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  std::vector<std::ptrdiff_t> axes_of(const Shape& input_shape) const;

  LayerNormalizationOptions options_;
  Variable gamma_, beta_;
};

}  // namespace etude
