#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/base/doubles.hpp"
#include "etude/layers/preprocessing_random.hpp"

namespace etude {

struct RandomErasingOptions {
  Doubles factor = 1.0;
  Doubles scale = {0.02, 0.33};
  Doubles fill_value = {};
  Doubles value_range = {0, 255};
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomErasingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::factor>("Least and greatest probability, drawn for each image; one number is the greatest. "
                           "Default: 1."),
        option<&O::scale>("Least and greatest share of the area that is erased. Default: 0.02 and 0.33."),
        option<&O::fill_value>("Value of erased pixels: one, or one for each channel. Default: noise."),
        value_range_fields<O>(), random_image_fields<O>());
  }
};

/// In training, replaces a box of some images by noise or a value; otherwise x. Throws Error(value) for shares out of
/// [0, 1]. Source: keras/src/layers/preprocessing/image_preprocessing/random_erasing.py.
class RandomErasing : public RandomImageLayer {
 public:
  using Options = RandomErasingOptions;
  static constexpr ClassText about{"RandomErasing", "In training, replaces a box of some images: [..] -> [..]."};
  explicit RandomErasing(const RandomErasingOptions& options = {});

 protected:
  Value transform(Value images) override;

 private:
  image_ops::Range factor_, scale_, value_range_;
  std::vector<double> fill_value_;
};

/// A layer that mixes each image of a batch with another one of it, or of its replica's shard, in training. Called on a
/// list {images, labels} it mixes the labels [batch, ..], such as one-hot rows, in the same way, and returns both.
class MixingLayer : public RandomImageLayer {
 public:
  Value call(Value x, bool training) final;
  Outputs call_with(const std::vector<Value>& inputs, bool training) final;

 protected:
  /// A layer of that class; its options have a seed and a data_format.
  template <class Options> MixingLayer(const ClassEntry& entry, const Options& options)
      : RandomImageLayer(entry, options) {}
  /// The result of mixing.
  struct Mixed {
    /// The mixed images.
    Value images;
    /// The share of each original in its result: [batch, 1, 1, 1].
    Value share;
  };
  /// Mixes images with others.
  virtual Mixed mixed(Value images, Value others) = 0;
  /// Draws from the beta distribution with both parameters `alpha`, one for each image.
  Value beta(Value images, Value alpha);

 private:
  Value transform(Value images) final;
};

struct MixUpOptions {
  double alpha = 0.2;
  std::string data_format = image_data_format();
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = MixUpOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::alpha>("Parameter of the beta distribution of the shares; near 0 one image prevails."),
        random_image_fields<O>());
  }
};

/// Weighted means of images. Throws Error(value) for an alpha of 0 or less. Source:
/// keras/src/layers/preprocessing/image_preprocessing/mix_up.py.
class MixUp : public MixingLayer {
 public:
  using Options = MixUpOptions;
  static constexpr ClassText about{.name = "MixUp",
                                   .text = "In training, blends images with others of the batch: [batch, ..] -> [..]."};
  explicit MixUp(const MixUpOptions& options = {});

 protected:
  Mixed mixed(Value images, Value others) override;

 private:
  double alpha_;
};

struct CutMixOptions {
  Doubles factor = 1.0;
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = CutMixOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::factor>("Least and greatest parameter of the beta distribution of the shares, drawn for "
                           "each batch; one number is the greatest. Default: 1."),
        random_image_fields<O>());
  }
};

/// Images with a box of another one. Throws Error(value) for a factor out of [0, 1]. Source:
/// keras/src/layers/preprocessing/image_preprocessing/cut_mix.py.
class CutMix : public MixingLayer {
 public:
  using Options = CutMixOptions;
  static constexpr ClassText about{
      .name = "CutMix",
      .text = "In training, puts a box of another image of the batch into each: [batch, ..] -> [..]."};
  explicit CutMix(const CutMixOptions& options = {});

 protected:
  Mixed mixed(Value images, Value others) override;

 private:
  image_ops::Range factor_;
};

namespace layers {
inline constexpr Factory<RandomErasing> random_erasing;
inline constexpr Factory<MixUp> mix_up;
inline constexpr Factory<CutMix> cut_mix;
}  // namespace layers

}  // namespace etude
