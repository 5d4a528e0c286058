#pragma once

#include <cstdint>
#include <optional>

#include "etude/base/backend.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

/// A layer with random draws: different numbers at every call and every step, and the same for the same seed. Without
/// its own seed it uses a separate stream of the global seed of set_random_seed.
class RandomLayer : public Layer {
 public:
  std::optional<RandomKey> random_key() const override { return key_; }
  void set_random_key(const RandomKey& key) override { key_ = key; }

 protected:
  /// A layer of that class; its options have a seed.
  template <OptionsOfLayer Options> RandomLayer(const ClassEntry& entry, const Options& options)
      : Layer(entry, options), key_(key_for(options.seed)), calls_(add_state("calls", {}, DType::int32)) {
    cast_integers();
  }

  /// The key of its draws.
  const RandomKey& key() const { return key_; }
  /// Within a trace: the number of this call, an int32 scalar.
  Value next_call();
  /// Throws Error(value) unless rate is from 0 to 1, or, `below_one`, less than 1.
  void check_rate(double rate, bool below_one) const;
  /// The shape of draws for x: what was given, with the extents of x where it has -1. Throws Error(shape) unless it
  /// broadcasts to x's.
  Shape noise_shape(const std::optional<Shape>& given, const Shape& x) const;

 private:
  static RandomKey key_for(const std::optional<std::int64_t>& seed);

  RandomKey key_;
  Variable calls_;
};

struct DropoutOptions {
  double rate = 0;
  std::optional<Shape> noise_shape = {};
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = DropoutOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::rate>("Fraction of the inputs that is set to 0, from 0 to 1.", Need::required),
        option<&O::noise_shape>("Shape of the draws, of which extents of 1 broadcast. Default: that of the inputs."),
        option<&O::seed>("Seed of the random draws. Default: derived from the global seed."), layer_fields<O>());
  }
};

/// In training sets each element to 0 with probability `rate` and scales the rest by 1 / (1 - rate); otherwise x
/// (A-11). noise_shape has -1 for extents of x, and 1 along axes of which all entries are dropped together. Throws
/// Error(value) unless 0 ≤ rate ≤ 1, Error(shape) for a noise_shape that does not fit. Source:
/// keras/src/layers/regularization/dropout.py.
class Dropout : public RandomLayer {
 public:
  using Options = DropoutOptions;
  static constexpr ClassText about{
      .name = "Dropout",
      .text = "In training, sets a fraction of the inputs to 0 and scales the others up: [..] -> [..].",
      .example = R"({"rate": 0.5})"};
  explicit Dropout(DropoutOptions options);
  explicit Dropout(double rate) : Dropout(DropoutOptions{.rate = rate}) {}
  Value call(Value x, bool training) override;

 private:
  const DropoutOptions& options_;
};

struct GaussianNoiseOptions {
  double stddev = 1;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = GaussianNoiseOptions> static constexpr auto fields() {
    return option_rows(option<&O::stddev>("Standard deviation of the noise.", Need::required),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."),
                       layer_fields<O>());
  }
};

/// In training, adds a draw from the normal distribution with mean 0 and that standard deviation to each element;
/// otherwise returns x. Throws Error(value) for a stddev below 0. Source:
/// keras/src/layers/regularization/gaussian_noise.py.
class GaussianNoise : public RandomLayer {
 public:
  using Options = GaussianNoiseOptions;
  static constexpr ClassText about{.name = "GaussianNoise",
                                   .text = "In training, adds noise from a normal distribution: [..] -> [..].",
                                   .example = R"({"stddev": 0.1})"};
  explicit GaussianNoise(GaussianNoiseOptions options);
  Value call(Value x, bool training) override;

 private:
  double stddev_;
};

struct GaussianDropoutOptions {
  double rate = 0;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = GaussianDropoutOptions> static constexpr auto fields() {
    return option_rows(option<&O::rate>("Fraction of the inputs that is dropped, from 0 to 1.", Need::required),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."),
                       layer_fields<O>());
  }
};

/// In training multiplies each element by a draw from the normal distribution of mean 1 and standard deviation
/// sqrt(rate / (1 - rate)); otherwise x. Throws Error(value) unless 0 ≤ rate < 1. Source:
/// keras/src/layers/regularization/gaussian_dropout.py.
class GaussianDropout : public RandomLayer {
 public:
  using Options = GaussianDropoutOptions;
  static constexpr ClassText about{.name = "GaussianDropout",
                                   .text = "In training, multiplies by noise of mean 1: [..] -> [..].",
                                   .example = R"({"rate": 0.5})"};
  explicit GaussianDropout(const GaussianDropoutOptions& options);
  explicit GaussianDropout(double rate) : GaussianDropout(GaussianDropoutOptions{.rate = rate}) {}
  Value call(Value x, bool training) override;

 private:
  double rate_;
};

struct AlphaDropoutOptions {
  double rate = 0;
  std::optional<Shape> noise_shape = {};
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = AlphaDropoutOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::rate>("Fraction of the inputs that is dropped, from 0 to 1.", Need::required),
        option<&O::noise_shape>("Shape of the draws, of which extents of 1 broadcast. Default: that of the inputs."),
        option<&O::seed>("Seed of the random draws. Default: derived from the global seed."), layer_fields<O>());
  }
};

/// In training sets each element to -1.7581 with probability `rate`, and scales and shifts all so that mean and
/// variance stay those of activations of selu; otherwise x. Throws Error(value) unless 0 ≤ rate < 1. Source:
/// keras/src/layers/regularization/alpha_dropout.py.
class AlphaDropout : public RandomLayer {
 public:
  using Options = AlphaDropoutOptions;
  static constexpr ClassText about{.name = "AlphaDropout",
                                   .text = "In training, drops inputs but keeps mean and variance: [..] -> [..].",
                                   .example = R"({"rate": 0.5})"};
  explicit AlphaDropout(AlphaDropoutOptions options);
  explicit AlphaDropout(double rate) : AlphaDropout(AlphaDropoutOptions{.rate = rate}) {}
  Value call(Value x, bool training) override;

 private:
  const AlphaDropoutOptions& options_;
};

struct SpatialDropoutOptions {
  double rate = 0;
  std::string data_format = image_data_format();
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = SpatialDropoutOptions> static constexpr auto fields() {
    return option_rows(option<&O::rate>("Fraction of the inputs that is dropped, from 0 to 1.", Need::required),
                       option<&O::data_format>(
                           "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."),
                       layer_fields<O>());
  }
};
struct StepsDropoutOptions {
  double rate = 0;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = StepsDropoutOptions> static constexpr auto fields() {
    return option_rows(option<&O::rate>("Fraction of the inputs that is dropped, from 0 to 1.", Need::required),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."),
                       layer_fields<O>());
  }
};

/// In training sets whole channels of a sample to 0 with probability `rate`, and scales the others by 1 / (1 - rate);
/// otherwise x. Throws Error(value) unless 0 ≤ rate ≤ 1, Error(shape) for inputs of another rank. Source:
/// keras/src/layers/regularization/spatial_dropout.py.
class SpatialDropout : public RandomLayer {
 public:
  Value call(Value x, bool training) final;

 protected:
  /// Of a class with `rank` spatial axes.
  template <class Options>
  SpatialDropout(const ClassEntry& entry, const Options& options, std::size_t rank)
      : RandomLayer(entry, options), rank_(rank), rate_(options.rate) {
    check_rate(rate_, false);
    if constexpr (requires { options.data_format; }) set_data_format(options.data_format);
  }

 private:
  void set_data_format(const std::string& data_format);

  std::size_t rank_;
  double rate_;
  bool channels_first_ = false;
};

/// Source: keras/src/layers/regularization/spatial_dropout.py.
class SpatialDropout1D : public SpatialDropout {
 public:
  using Options = StepsDropoutOptions;
  static constexpr ClassText about{.name = "SpatialDropout1D",
                                   .text =
                                       "In training, sets a share of the channels to 0: [batch, steps, "
                                       "channels] -> [batch, steps, channels].",
                                   .example = R"({"rate": 0.5})"};
  explicit SpatialDropout1D(const StepsDropoutOptions& options);
  explicit SpatialDropout1D(double rate) : SpatialDropout1D(StepsDropoutOptions{.rate = rate}) {}
};
/// Source: keras/src/layers/regularization/spatial_dropout.py.
class SpatialDropout2D : public SpatialDropout {
 public:
  using Options = SpatialDropoutOptions;
  static constexpr ClassText about{.name = "SpatialDropout2D",
                                   .text =
                                       "In training, sets a share of the channels to 0: [batch, height, width, "
                                       "channels] -> [batch, height, width, channels].",
                                   .example = R"({"rate": 0.5})"};
  explicit SpatialDropout2D(const SpatialDropoutOptions& options);
  explicit SpatialDropout2D(double rate) : SpatialDropout2D(SpatialDropoutOptions{.rate = rate}) {}
};
/// Source: keras/src/layers/regularization/spatial_dropout.py.
class SpatialDropout3D : public SpatialDropout {
 public:
  using Options = SpatialDropoutOptions;
  static constexpr ClassText about{.name = "SpatialDropout3D",
                                   .text =
                                       "In training, sets a share of the channels to 0: [batch, depth, height, width, "
                                       "channels] -> [batch, depth, height, width, channels].",
                                   .example = R"({"rate": 0.5})"};
  explicit SpatialDropout3D(const SpatialDropoutOptions& options);
  explicit SpatialDropout3D(double rate) : SpatialDropout3D(SpatialDropoutOptions{.rate = rate}) {}
};

namespace layers {
inline constexpr Factory<AlphaDropout> alpha_dropout;
inline constexpr Factory<GaussianDropout> gaussian_dropout;
inline constexpr Factory<SpatialDropout1D> spatial_dropout1d;
inline constexpr Factory<SpatialDropout2D> spatial_dropout2d;
inline constexpr Factory<SpatialDropout3D> spatial_dropout3d;
inline constexpr Factory<Dropout> dropout;
inline constexpr Factory<GaussianNoise> gaussian_noise;
}  // namespace layers

}  // namespace etude
