#pragma once

#include <optional>

#include "etude/activations/activations.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/layer.hpp"

/// Activations with options, as layers.
namespace etude {

struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0;
  double threshold = 0;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ReLUOptions> static constexpr auto fields() {
    return option_rows(option<&O::max_value>("Largest result. Default: no limit."),
                       option<&O::negative_slope>("Slope below the threshold."),
                       option<&O::threshold>("Value below which the slope applies."), layer_fields<O>());
  }
};

/// x above the threshold, at most max_value; negative_slope · (x - threshold) elsewhere. Throws Error(value) for
/// numbers below 0. Source: keras/src/layers/activations/relu.py.
class ReLU : public Layer {
 public:
  using Options = ReLUOptions;
  static constexpr ClassText about{.name = "ReLU", .text = "Rectified linear unit: [..] -> [..].", .factory = "relu"};
  explicit ReLU(const ReLUOptions& options = {});
  Value call(Value x, bool training) override;

 private:
  activations::ReluOptions options_;
};

struct LeakyReLUOptions {
  double negative_slope = 0.3;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = LeakyReLUOptions> static constexpr auto fields() {
    return option_rows(option<&O::negative_slope>("Slope below 0."), layer_fields<O>());
  }
};

/// x where it is positive, else negative_slope · x. Throws Error(value) for a slope below 0. Source:
/// keras/src/layers/activations/leaky_relu.py.
class LeakyReLU : public Layer {
 public:
  using Options = LeakyReLUOptions;
  static constexpr ClassText about{.name = "LeakyReLU",
                                   .text = "Rectified linear unit with a slope below 0: [..] -> [..].",
                                   .factory = "leaky_relu"};
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
  Value call(Value x, bool training) override;

 private:
  double negative_slope_;
};

struct PReLUOptions {
  Choice<Initializer> alpha_initializer = "zeros";
  Choice<Regularizer> alpha_regularizer = {};
  Choice<Constraint> alpha_constraint = {};
  Integers shared_axes = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = PReLUOptions> static constexpr auto fields() {
    return option_rows(option<&O::alpha_initializer>("Initial values of the slopes."),
                       option<&O::alpha_regularizer>("Penalty on the slopes, which is added to the loss."),
                       option<&O::alpha_constraint>("Constraint of the slopes, applied after each update."),
                       option<&O::shared_axes>("Axes along which slopes are shared, from 1."), layer_fields<O>());
  }
};

/// x where it is positive, else alpha · x. alpha has the shape of a sample, with extents of 1 along shared_axes. Throws
/// Error(shape) for axes that inputs do not have and for inputs of another shape than it was built for. Source:
/// keras/src/layers/activations/prelu.py; https://arxiv.org/abs/1502.01852.
class PReLU : public Layer {
 public:
  using Options = PReLUOptions;
  static constexpr ClassText about{.name = "PReLU",
                                   .text =
                                       "Rectified linear unit whose slopes below 0 are learned: [batch, ..] -> "
                                       "[batch, ..].",
                                   .factory = "prelu"};
  explicit PReLU(PReLUOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  const PReLUOptions& options_;
  Variable alpha_;
};

struct ELUOptions {
  double alpha = 1;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ELUOptions> static constexpr auto fields() {
    return option_rows(option<&O::alpha>("Scale of the exponential below 0."), layer_fields<O>());
  }
};

/// x where it is positive, else alpha · (exp(x) - 1). Source: keras/src/layers/activations/elu.py.
class ELU : public Layer {
 public:
  using Options = ELUOptions;
  static constexpr ClassText about{"ELU", "Exponential linear unit: [..] -> [..].", "", "elu"};
  explicit ELU(const ELUOptions& options = {});
  Value call(Value x, bool training) override;

 private:
  double alpha_;
};

struct ThresholdedReLUOptions {
  double theta = 1;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ThresholdedReLUOptions> static constexpr auto fields() {
    return option_rows(option<&O::theta>("Value up to which the result is 0."), layer_fields<O>());
  }
};

/// x above theta, 0 elsewhere: x = theta gives 0. Throws Error(value) for a theta below 0. Source:
/// keras/src/legacy/layers.py; Konda et al. (2015).
class ThresholdedReLU : public Layer {
 public:
  using Options = ThresholdedReLUOptions;
  static constexpr ClassText about{.name = "ThresholdedReLU",
                                   .text = "Rectified linear unit above a threshold: [..] -> [..].",
                                   .factory = "thresholded_relu"};
  explicit ThresholdedReLU(const ThresholdedReLUOptions& options = {});
  Value call(Value x, bool training) override;

 private:
  double theta_;
};

struct SoftmaxOptions {
  Integers axis = -1;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = SoftmaxOptions> static constexpr auto fields() {
    return option_rows(option<&O::axis>("Axis along which the results have a sum of 1, or several."),
                       layer_fields<O>());
  }
};

/// exp(x) / sum(exp(x)) along an axis, or several together. A mask, which broadcasts to x's shape, excludes elements:
/// they count as -1e9, in float16 as -3e4, and give 0. Throws Error(value) without an axis, Error(shape) for a mask
/// that does not broadcast. Source: keras/src/layers/activations/softmax.py.
class Softmax : public Layer {
 public:
  using Options = SoftmaxOptions;
  static constexpr ClassText about{"Softmax", "Softmax along an axis: [..] -> [..]."};
  explicit Softmax(const SoftmaxOptions& options = {});
  Value call(Value x, bool training) override;

 private:
  std::vector<std::ptrdiff_t> axes_;
};

namespace layers {
inline constexpr Factory<ELU> elu;
inline constexpr Factory<LeakyReLU> leaky_relu;
inline constexpr Factory<PReLU> prelu;
inline constexpr Factory<ReLU> relu;
inline constexpr Factory<Softmax> softmax;
inline constexpr Factory<ThresholdedReLU> thresholded_relu;
}  // namespace layers

}  // namespace etude
