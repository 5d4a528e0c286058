#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/layers/preprocessing_random.hpp"

namespace etude {

struct RandAugmentOptions {
  Doubles value_range = {0, 255};
  std::int64_t num_ops = 2;
  Doubles factor = 0.5;
  std::string interpolation = "bilinear";
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandAugmentOptions> static constexpr auto fields() {
    return option_rows(
        value_range_fields<O>(),
        option<&O::num_ops>("Number of changes, one after the other. Each is one of eleven, the same for all "
                            "images of a batch."),
        option<&O::factor>("Least and greatest strength of the changes, from 0 to 1; or one number f for 0 to f."),
        option<&O::interpolation>("\"nearest\" or \"bilinear\"."), random_image_fields<O>());
  }
};

/// In training, changes images by num_ops layers that it draws among RandomShear, RandomTranslation, RandomRotation,
/// RandomBrightness, RandomColorDegeneration, RandomContrast, RandomSharpness, RandomPosterization, Solarization,
/// AutoContrast and Equalization; otherwise x. Images have three channels. Throws Error(value) for numbers out of
/// range. Source: keras/src/layers/preprocessing/image_preprocessing/rand_augment.py.
class RandAugment : public RandomImageLayer {
 public:
  using Options = RandAugmentOptions;
  static constexpr ClassText about{
      "RandAugment", "In training, changes images by layers that it draws: [.., height, width, channels] -> [..]."};
  explicit RandAugment(const RandAugmentOptions& options = {});
  std::vector<LayerPtr> layers() const override { return changes_; }

 protected:
  Value transform(Value images) override;

 private:
  std::int64_t count_;
  std::vector<LayerPtr> changes_;
};

struct AugMixOptions {
  Doubles value_range = {0, 255};
  std::int64_t num_chains = 3;
  std::int64_t chain_depth = 3;
  Doubles factor = 0.3;
  double alpha = 1;
  bool all_ops = true;
  std::string interpolation = "bilinear";
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = AugMixOptions> static constexpr auto fields() {
    return option_rows(
        value_range_fields<O>(), option<&O::num_chains>("Number of chains of changes, whose results are mixed."),
        option<&O::chain_depth>("Number of changes of a chain, one after the other. Each is drawn, or none, the "
                                "same for all images of a batch."),
        option<&O::factor>("Least and greatest strength of the changes, from 0 to 1; or one number f for 0 to f."),
        option<&O::alpha>("Parameter of the Dirichlet distribution of the shares of the chains, and of the beta "
                          "distribution of the share of the original, drawn for each batch."),
        option<&O::all_ops>("Whether brightness, saturation, contrast and sharpness are changed, too."),
        option<&O::interpolation>("\"nearest\" or \"bilinear\"."), random_image_fields<O>());
  }
};

/// In training, mixes images with num_chains copies of them; otherwise x. Each copy is changed by up to chain_depth
/// layers that are drawn among those of RandAugment, with `all_ops` false among those that neither change the
/// brightness, the saturation, the contrast nor the sharpness. Images have three channels. Replicas with one
/// image each draw other shares of the copies than one replica. Throws Error(value) for numbers out of range. Source:
/// keras/src/layers/preprocessing/image_preprocessing/aug_mix.py.
class AugMix : public RandomImageLayer {
 public:
  using Options = AugMixOptions;
  static constexpr ClassText about{
      "AugMix", "In training, mixes images with changed copies of them: [.., height, width, channels] -> [..]."};
  explicit AugMix(const AugMixOptions& options = {});
  std::vector<LayerPtr> layers() const override { return changes_; }

 protected:
  Value transform(Value images) override;

 private:
  Value shares(Value images, std::int64_t count);

  std::int64_t chains_, depth_;
  double alpha_;
  image_ops::Range value_range_;
  std::vector<LayerPtr> changes_;
};

namespace layers {
inline constexpr Factory<AugMix> aug_mix;
inline constexpr Factory<RandAugment> rand_augment;
}  // namespace layers

}  // namespace etude
