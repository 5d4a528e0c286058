#pragma once

#include <cstdint>
#include <optional>

#include "etude/layers/layer.hpp"

namespace etude {

/// A layer that draws: other numbers at every call and at every step, the same for the same seed. Without a seed it has
/// a stream of its own of the one that set_random_seed set.
class RandomLayer : public Layer {
 public:
  std::optional<RandomKey> random_key() const override { return key_; }
  void set_random_key(const RandomKey& key) override { key_ = key; }

 protected:
  /// A layer of that class, whose options have a seed.
  template <OptionsOfLayer Options> RandomLayer(const ClassEntry& entry, const Options& options)
      : Layer(entry, options), key_(key_for(options.seed)), calls_(add_state("calls", {}, DType::int32)) {
    cast_integers();
  }

  /// What its draws depend on.
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
        option<&DropoutOptions::rate>("Share of the inputs that is set to 0, from 0 to 1.", Need::required),
        option<&DropoutOptions::seed>("Seed of the random draws. Default: drawn from the seed that was set for all."),
        layer_fields<DropoutOptions>());
  }
};

/// In training sets each element to 0 with probability `rate` and scales the rest by 1 / (1 - rate); otherwise x
/// (A-11). Throws Error(value) unless 0 ≤ rate ≤ 1. Source: keras/src/layers/regularization/dropout.py.
class Dropout : public RandomLayer {
 public:
  using Options = DropoutOptions;
  static constexpr ClassText about{
      .name = "Dropout",
      .text = "In training, sets a share of the inputs to 0 and scales the others up: [..] -> [..].",
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
    return option_rows(option<&GaussianNoiseOptions::stddev>("Standard deviation of the noise.", Need::required),
                       option<&GaussianNoiseOptions::seed>(
                           "Seed of the random draws. Default: drawn from the seed that was set for all."),
                       layer_fields<GaussianNoiseOptions>());
  }
};

/// In training adds to each element a draw from the normal distribution of mean 0 and that standard deviation;
/// otherwise x. Throws Error(value) for a stddev below 0. Source: keras/src/layers/regularization/gaussian_noise.py.
class GaussianNoise : public RandomLayer {
 public:
  using Options = GaussianNoiseOptions;
  static constexpr ClassText about{.name = "GaussianNoise",
                                   .text = "In training, adds noise of a normal distribution: [..] -> [..].",
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
