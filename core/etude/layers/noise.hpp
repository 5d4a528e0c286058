#pragma once

#include <cstdint>
#include <optional>

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

 private:
  static RandomKey key_for(const std::optional<std::int64_t>& seed);

  RandomKey key_;
  Variable calls_;
};

struct DropoutOptions {
  double rate = 0;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  static constexpr auto fields() {
    return option_rows(
        option<&DropoutOptions::rate>("Fraction of the inputs that is set to 0, from 0 to 1.", Need::required),
        option<&DropoutOptions::seed>("Seed of the random draws. Default: derived from the global seed."),
        layer_fields<DropoutOptions>());
  }
};

/// In training, sets each element to 0 with probability `rate` and scales the rest by 1 / (1 - rate); otherwise returns
/// x (A-11). Throws Error(value) unless 0 ≤ rate ≤ 1. Source: keras/src/layers/regularization/dropout.py.
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
  double rate_;
};

struct GaussianNoiseOptions {
  double stddev = 1;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  static constexpr auto fields() {
    return option_rows(
        option<&GaussianNoiseOptions::stddev>("Standard deviation of the noise.", Need::required),
        option<&GaussianNoiseOptions::seed>("Seed of the random draws. Default: derived from the global seed."),
        layer_fields<GaussianNoiseOptions>());
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

namespace layers {
inline constexpr Factory<Dropout> dropout;
inline constexpr Factory<GaussianNoise> gaussian_noise;
}  // namespace layers

}  // namespace etude
