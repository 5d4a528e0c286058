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
  Choice<Regularizer> beta_regularizer = {};
  Choice<Regularizer> gamma_regularizer = {};
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
    visit("beta_regularizer", self.beta_regularizer);
    visit("gamma_regularizer", self.gamma_regularizer);
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

struct BatchNormalizationOptions {
  std::ptrdiff_t axis = -1;
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Choice<Initializer> beta_initializer = "zeros";
  Choice<Initializer> gamma_initializer = "ones";
  Choice<Initializer> moving_mean_initializer = "zeros";
  Choice<Initializer> moving_variance_initializer = "ones";
  Choice<Regularizer> beta_regularizer = {};
  Choice<Regularizer> gamma_regularizer = {};
  /// Whether replicas take the moments of the whole batch, not each those of its share.
  bool synchronized = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("momentum", self.momentum);
    visit("epsilon", self.epsilon);
    visit("center", self.center);
    visit("scale", self.scale);
    visit("beta_initializer", self.beta_initializer);
    visit("gamma_initializer", self.gamma_initializer);
    visit("moving_mean_initializer", self.moving_mean_initializer);
    visit("moving_variance_initializer", self.moving_variance_initializer);
    visit("beta_regularizer", self.beta_regularizer);
    visit("gamma_regularizer", self.gamma_regularizer);
    visit("synchronized", self.synchronized);
    visit("name", self.name);
    visit("dtype", self.dtype);
    visit("trainable", self.trainable);
  }
};

/// (x - mean) / sqrt(variance + epsilon) · gamma + beta for each entry of `axis`, mean and variance over all others. In
/// training they are those of the batch (of the entries that its mask lets count), and the moving ones follow: moving ·
/// momentum + batch · (1 - momentum), the variance biased. Otherwise, and in a layer that is not trainable, they
/// are the moving ones. Of several replicas each takes the moments of its share of the batch, or, `synchronized`, of
/// all; the moving ones follow their mean. Weights: gamma, beta, moving_mean, moving_variance, of which the last two
/// are not trained. Throws Error(value) for a momentum out of [0, 1], Error(shape) for inputs without the axis or of
/// another extent than it was built for. Source: Ioffe and Szegedy (2015);
/// keras/src/layers/normalization/batch_normalization.py.
class BatchNormalization : public Layer {
 public:
  explicit BatchNormalization(BatchNormalizationOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  BatchNormalizationOptions options_;
  Variable gamma_, beta_, moving_mean_, moving_variance_;
};

}  // namespace etude
