#pragma once

#include <map>
#include <optional>

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
  Choice<Constraint> beta_constraint = {}, gamma_constraint = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = LayerNormalizationOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::axis>("Axes that are normalized together."),
        option<&O::epsilon>("Small number that avoids a division by 0."), option<&O::center>("Whether beta is added."),
        option<&O::scale>("Whether the result is multiplied by gamma."),
        option<&O::rms_scaling>(
            "Whether the result is x / sqrt(variance + epsilon) · gamma: the mean is not subtracted."),
        option<&O::beta_initializer>("Initial values of beta."),
        option<&O::gamma_initializer>("Initial values of gamma."), option<&O::beta_regularizer>("Penalty on beta."),
        option<&O::gamma_regularizer>("Penalty on gamma."), constraint_fields<O>(), layer_fields<O>());
  }
};

/// (x - mean) / sqrt(variance + epsilon) · gamma + beta, mean and variance over `axis`; gamma and beta have the extents
/// of those axes. With rms_scaling it is x / sqrt(variance + epsilon) · gamma, without beta (A-10).
/// Throws Error(value) without an axis, Error(shape) for axes that the input does not have or other extents than at its
/// build. Source: Ba et al., "Layer Normalization" (2016); keras/src/layers/normalization/layer_normalization.py.
class LayerNormalization : public Layer {
 public:
  using Options = LayerNormalizationOptions;
  static constexpr ClassText about{"LayerNormalization",
                                   "Normalizes each sample over the last axis, or others: [batch, ..] -> [batch, ..]."};
  explicit LayerNormalization(LayerNormalizationOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  const LayerNormalizationOptions& options_;
  Variable gamma_, beta_;
};

struct RMSNormalizationOptions {
  Integers axis = -1;
  double epsilon = 1e-6;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = RMSNormalizationOptions> static constexpr auto fields() {
    return option_rows(option<&O::axis>("Axes that are normalized together."),
                       option<&O::epsilon>("Small number that avoids a division by 0."), layer_fields<O>());
  }
};

/// x / sqrt(mean(x²) + epsilon) · scale, the mean over `axis`; scale has the extents of those axes. Throws Error(value)
/// without an axis, Error(shape) for the batch axis and for other extents than at its build. Source:
/// keras/src/layers/normalization/rms_normalization.py.
class RMSNormalization : public Layer {
 public:
  using Options = RMSNormalizationOptions;
  static constexpr ClassText about{
      "RMSNormalization", "Divides each sample by its root mean square along axes: [batch, ..] -> [batch, ..]."};
  explicit RMSNormalization(RMSNormalizationOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  const RMSNormalizationOptions& options_;
  Variable scale_;
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
  Choice<Constraint> beta_constraint = {}, gamma_constraint = {};
  bool renorm = false;
  std::optional<std::map<std::string, double>> renorm_clipping = {};  ///< Default: no limits.
  double renorm_momentum = 0.99;
  /// Whether replicas use the moments of the whole batch instead of those of their shards.
  bool synchronized = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = BatchNormalizationOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::axis>("Axis of the features, which are normalized separately."),
        option<&O::momentum>("Fraction of the moving averages that a step keeps, from 0 to 1."),
        option<&O::epsilon>("Small number that avoids a division by 0."), option<&O::center>("Whether beta is added."),
        option<&O::scale>("Whether the result is multiplied by gamma."),
        option<&O::beta_initializer>("Initial values of beta."),
        option<&O::gamma_initializer>("Initial values of gamma."),
        option<&O::moving_mean_initializer>("Initial values of the moving mean."),
        option<&O::moving_variance_initializer>("Initial values of the moving variance."),
        option<&O::beta_regularizer>("Penalty on beta."), option<&O::gamma_regularizer>("Penalty on gamma."),
        constraint_fields<O>(),
        option<&O::renorm>("Whether training normalizes nearly as evaluation does: by Batch Renormalization."),
        option<&O::renorm_clipping>(
            "Limits of its corrections: the scale is from \"rmin\" to \"rmax\", the shift from -\"dmax\" to \"dmax\". "
            "Default: no limits."),
        option<&O::renorm_momentum>(
            "Fraction of the moving averages of Batch Renormalization that a step keeps, from 0 to 1."),
        option<&O::synchronized>("Whether the statistics are those of all replicas together."), layer_fields<O>());
  }
};

/// (x - mean) / sqrt(variance + epsilon) · gamma + beta for each entry of `axis`, mean and variance over all others. In
/// training they are those of the batch (of its unmasked entries), and update the moving ones: moving · momentum +
/// batch · (1 - momentum), with the biased variance (A-9). Otherwise, and in a layer that is not trainable, the moving
/// ones are used. Each replica uses the moments of its shard of the batch, or, if `synchronized`, of the whole batch;
/// the moving ones follow the mean over the replicas. Weights: gamma, beta, moving_mean, moving_variance; the last two
/// are not trained.
///
/// With renorm, training normalizes to normalized · r + d instead, constants for the gradient: r = stddev /
/// renorm_stddev, d = (mean - renorm_mean) / renorm_stddev, within renorm_clipping. renorm_mean and renorm_stddev are
/// moving averages by renorm_momentum; moving_variance follows moving_stddev, the moving average of the standard
/// deviation. These three are weights after the others. Throws Error(value) for a momentum outside [0, 1] and for a
/// renorm_clipping of other names or of limits that exclude each other, Error(shape) for inputs without the axis or
/// with another extent than at its build. Source: Ioffe and Szegedy (2015); Ioffe, "Batch Renormalization" (2017);
/// keras/src/layers/normalization/batch_normalization.py.
class BatchNormalization : public Layer {
 public:
  using Options = BatchNormalizationOptions;
  static constexpr ClassText about{
      "BatchNormalization",
      "Normalizes each feature by the mean and variance of the batch, outside training by their moving averages: "
      "[batch, ..] -> [batch, ..]."};
  explicit BatchNormalization(BatchNormalizationOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  /// The corrections of Batch Renormalization.
  struct Correction {
    Value r, d;
  };
  void check_clipping() const;
  Correction correction(Value mean, Value stddev) const;
  void follow(Value mean, Value variance) const;

  const BatchNormalizationOptions& options_;
  Variable gamma_, beta_, moving_mean_, moving_variance_, moving_stddev_, renorm_mean_, renorm_stddev_;
};

struct GroupNormalizationOptions {
  std::int64_t groups = 32;
  std::ptrdiff_t axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Choice<Initializer> beta_initializer = "zeros";
  Choice<Initializer> gamma_initializer = "ones";
  Choice<Regularizer> beta_regularizer = {};
  Choice<Regularizer> gamma_regularizer = {};
  Choice<Constraint> beta_constraint = {}, gamma_constraint = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = GroupNormalizationOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::groups>("Groups of channels that are normalized together; -1: each channel by itself."),
        option<&O::axis>("Axis of the channels."), option<&O::epsilon>("Small number that avoids a division by 0."),
        option<&O::center>("Whether beta is added."), option<&O::scale>("Whether the result is multiplied by gamma."),
        option<&O::beta_initializer>("Initial values of beta."),
        option<&O::gamma_initializer>("Initial values of gamma."), option<&O::beta_regularizer>("Penalty on beta."),
        option<&O::gamma_regularizer>("Penalty on gamma."), constraint_fields<O>(), layer_fields<O>());
  }
};

/// (x - mean) / sqrt(variance + epsilon) · gamma + beta, mean and variance of each sample and group of channels; gamma
/// and beta [channels]. Throws Error(value) for groups that do not divide the channels, Error(shape) for the batch axis
/// and for inputs of other channels than it was built for. Source: Wu and He, "Group Normalization" (2018);
/// keras/src/layers/normalization/group_normalization.py.
class GroupNormalization : public Layer {
 public:
  using Options = GroupNormalizationOptions;
  static constexpr ClassText about{
      .name = "GroupNormalization",
      .text = "Normalizes each sample by groups of channels: [batch, .., channels] -> [batch, .., channels].",
      .example = R"({"groups": -1})"};
  explicit GroupNormalization(GroupNormalizationOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  const GroupNormalizationOptions& options_;
  std::int64_t channels_ = 0;
  Variable gamma_, beta_;
};

struct UnitNormalizationOptions {
  Integers axis = -1;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = UnitNormalizationOptions> static constexpr auto fields() {
    return option_rows(option<&O::axis>("Axes that are normalized together."), layer_fields<O>());
  }
};

/// x / sqrt(sum(x²)) along an axis, or several. Throws Error(value) without an axis. Source:
/// keras/src/layers/normalization/unit_normalization.py.
class UnitNormalization : public Layer {
 public:
  using Options = UnitNormalizationOptions;
  static constexpr ClassText about{"UnitNormalization",
                                   "Scales each sample to a length of 1 along an axis: [batch, ..] -> [batch, ..]."};
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
  Value call(Value x, bool training) override;

 private:
  std::vector<std::ptrdiff_t> axes_;
};

namespace layers {
inline constexpr Factory<GroupNormalization> group_normalization;
inline constexpr Factory<UnitNormalization> unit_normalization;
inline constexpr Factory<BatchNormalization> batch_normalization;
inline constexpr Factory<LayerNormalization> layer_normalization;
inline constexpr Factory<RMSNormalization> rms_normalization;
}  // namespace layers

}  // namespace etude
