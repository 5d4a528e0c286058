#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "etude/base/backend.hpp"
#include "etude/base/doubles.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/detail/color_ops.hpp"
#include "etude/layers/preprocessing_random.hpp"

namespace etude {

/// A layer that changes colors, with a strength that is drawn for each image. Throws Error(value) for a factor out of
/// range.
class RandomColor : public RandomImageLayer {
 protected:
  /// A layer of that class, which makes this change; its options have a factor.
  template <class Options> RandomColor(const ClassEntry& entry, const Options& options, const color_ops::Change& change)
      : RandomImageLayer(entry, options), change_(change) {
    // One probability is no interval.
    if constexpr (std::is_same_v<decltype(Options::factor), double>)
      factor_ = color_ops::strengths(change, "factor", {options.factor, options.factor}, where());
    else
      factor_ = color_ops::strengths(change, "factor", options.factor, where());
    if constexpr (requires { options.value_range; })
      value_range_ = image_ops::value_range_of(options.value_range, where());
  }
  Value transform(Value images) final;

 private:
  const color_ops::Change& change_;
  image_ops::Range factor_{}, value_range_{0, 255};
};

struct RandomColorOptions {
  Doubles factor = {};
  Doubles value_range = {0, 255};
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomColorOptions> static constexpr auto fields() {
    return option_rows(option<&O::factor>("Least and greatest strength, drawn for each image; or one number for "
                                          "the interval that its class describes.",
                                          Need::required),
                       value_range_fields<O>(), random_image_fields<O>());
  }
};

/// Adds a number from -factor to factor, times the range of values, to all pixels of an image. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_brightness.py.
class RandomBrightness : public RandomColor {
 public:
  using Options = RandomColorOptions;
  static constexpr ClassText about{
      .name = "RandomBrightness",
      .text = "In training, changes the brightness of images by a share from -factor to factor: [..] -> [..].",
      .example = R"({"factor": 0.2})"};
  explicit RandomBrightness(const RandomColorOptions& options);
};

/// Multiplies the deviations from the mean of each channel of an image by a number from 1 - factor to 1 + factor.
/// Source: keras/src/layers/preprocessing/image_preprocessing/random_contrast.py, of which the
/// description counts: for one number the code there only increases contrast.
class RandomContrast : public RandomColor {
 public:
  using Options = RandomColorOptions;
  static constexpr ClassText about{
      .name = "RandomContrast",
      .text = "In training, multiplies the contrast of images by a number from 1 - factor to 1 + factor: [..] -> [..].",
      .example = R"({"factor": 0.2})"};
  explicit RandomContrast(const RandomColorOptions& options);
};

/// Blends an image with a gray one: 0 changes nothing, 1 is gray. Images have three channels. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_color_degeneration.py.
class RandomColorDegeneration : public RandomColor {
 public:
  using Options = RandomColorOptions;
  static constexpr ClassText about{.name = "RandomColorDegeneration",
                                   .text = "In training, blends images with gray ones by up to factor: [..] -> [..].",
                                   .example = R"({"factor": 0.2})"};
  explicit RandomColorDegeneration(const RandomColorOptions& options);
};

/// Turns the hue by up to factor / 2 of a full turn, in either direction. Images have three channels. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_hue.py.
class RandomHue : public RandomColor {
 public:
  using Options = RandomColorOptions;
  static constexpr ClassText about{
      .name = "RandomHue",
      .text = "In training, turns the hue of images by up to factor / 2 of a full turn: [..] -> [..].",
      .example = R"({"factor": 0.2})"};
  explicit RandomHue(const RandomColorOptions& options);
};

/// Multiplies the saturation by f / (1 - f) for an f from 0 to factor: 0 is gray, 0.5 changes nothing. Saturations are
/// at most 1, also with values to 255. Images have three channels. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_saturation.py.
class RandomSaturation : public RandomColor {
 public:
  using Options = RandomColorOptions;
  static constexpr ClassText about{
      .name = "RandomSaturation",
      .text = "In training, changes the saturation of images; a factor of 0.5 changes nothing: [..] -> [..].",
      .example = R"({"factor": 0.2})"};
  explicit RandomSaturation(const RandomColorOptions& options);
};

/// Blends an image with a blurred one: 0 is blurred, 0.5 changes nothing, 1 is sharpened. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_sharpness.py.
class RandomSharpness : public RandomColor {
 public:
  using Options = RandomColorOptions;
  static constexpr ClassText about{
      .name = "RandomSharpness",
      .text = "In training, blurs or sharpens images; a factor of 0.5 changes nothing: [..] -> [..].",
      .example = R"({"factor": 0.2})"};
  explicit RandomSharpness(const RandomColorOptions& options);
};

/// Keeps the highest bits of values from 0 to 255: as many as are drawn, from 1 to factor - 1, or from the first number
/// to the second one minus 1; two equal numbers are that number. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_posterization.py.
class RandomPosterization : public RandomColor {
 public:
  using Options = RandomColorOptions;
  static constexpr ClassText about{
      .name = "RandomPosterization",
      .text = "In training, reduces the bits of each value to a number from 1 to factor - 1: [..] -> [..].",
      .example = R"({"factor": 5})"};
  explicit RandomPosterization(const RandomColorOptions& options);
};

struct RandomInvertOptions {
  Doubles factor = 1.0;
  Doubles value_range = {0, 255};
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomInvertOptions> static constexpr auto fields() {
    return option_rows(option<&O::factor>("Least and greatest probability, drawn for each image; one number is "
                                          "the greatest. Default: 1."),
                       value_range_fields<O>(), random_image_fields<O>());
  }
};

/// Source: keras/src/layers/preprocessing/image_preprocessing/random_invert.py.
class RandomInvert : public RandomColor {
 public:
  using Options = RandomInvertOptions;
  static constexpr ClassText about{"RandomInvert", "In training, inverts the values of some images: [..] -> [..]."};
  explicit RandomInvert(const RandomInvertOptions& options = {});
};

struct RandomGrayscaleOptions {
  double factor = 0.5;
  std::string data_format = image_data_format();
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomGrayscaleOptions> static constexpr auto fields() {
    return option_rows(option<&O::factor>("Probability that an image loses its colors."), random_image_fields<O>());
  }
};

/// Images have one or three channels, and keep them. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_grayscale.py.
class RandomGrayscale : public RandomColor {
 public:
  using Options = RandomGrayscaleOptions;
  static constexpr ClassText about{"RandomGrayscale", "In training, removes the colors of some images: [..] -> [..]."};
  explicit RandomGrayscale(const RandomGrayscaleOptions& options = {});
};

struct RandomColorJitterOptions {
  Doubles value_range = {0, 255};
  Doubles brightness_factor = {};
  Doubles contrast_factor = {};
  Doubles saturation_factor = {};
  Doubles hue_factor = {};
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomColorJitterOptions> static constexpr auto fields() {
    return option_rows(
        value_range_fields<O>(),
        option<&O::brightness_factor>("The factor of RandomBrightness. Default: brightness does not change."),
        option<&O::contrast_factor>("The factor of RandomContrast. Default: contrast does not change."),
        option<&O::saturation_factor>("The factor of RandomSaturation. Default: saturation does not change."),
        option<&O::hue_factor>("The factor of RandomHue. Default: hue does not change."), random_image_fields<O>());
  }
};

/// RandomBrightness, RandomContrast, RandomSaturation and RandomHue, one after the other. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_color_jitter.py.
class RandomColorJitter : public RandomImageLayer {
 public:
  using Options = RandomColorJitterOptions;
  static constexpr ClassText about{
      "RandomColorJitter", "In training, changes brightness, contrast, saturation and hue of images: [..] -> [..]."};
  explicit RandomColorJitter(RandomColorJitterOptions options = {});

 protected:
  Value transform(Value images) override;

 private:
  /// A change, and the option with its factor.
  struct Step {
    const char* name;
    const Doubles& factor;
    const color_ops::Change& change;
  };
  std::array<Step, 4> steps() const;

  const RandomColorJitterOptions& options_;
};

struct RandomGaussianBlurOptions {
  Doubles factor = 1.0;
  Integers kernel_size = 3;
  Doubles sigma = 1.0;
  Doubles value_range = {0, 255};
  std::string data_format = image_data_format();
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomGaussianBlurOptions> static constexpr auto fields() {
    return option_rows(option<&O::factor>("Least and greatest probability, drawn for each image; one number is "
                                          "the greatest. Default: 1."),
                       option<&O::kernel_size>("Width and height of the kernel, odd numbers of pixels."),
                       option<&O::sigma>("Least and greatest standard deviation of the kernel, in pixels, drawn "
                                         "for each batch; one number is the greatest. Default: 1."),
                       value_range_fields<O>(), random_image_fields<O>());
  }
};

/// Throws Error(value) for even sizes. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_gaussian_blur.py.
class RandomGaussianBlur : public RandomImageLayer {
 public:
  using Options = RandomGaussianBlurOptions;
  static constexpr ClassText about{"RandomGaussianBlur", "In training, blurs some images: [..] -> [..]."};
  explicit RandomGaussianBlur(const RandomGaussianBlurOptions& options = {});

 protected:
  Value transform(Value images) override;

 private:
  image_ops::Range factor_, sigma_, value_range_;
  std::int64_t width_, height_;
};

struct SolarizationOptions {
  Doubles addition_factor = 0.0;
  Doubles threshold_factor = 0.0;
  Doubles value_range = {0, 255};
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = SolarizationOptions> static constexpr auto fields() {
    return option_rows(option<&O::addition_factor>("Least and greatest number added to values, as a fraction of "
                                                   "their range; one number is the greatest. Default: 0."),
                       option<&O::threshold_factor>("The same of the threshold above which values are inverted. "
                                                    "Default: 0."),
                       value_range_fields<O>(), random_image_fields<O>());
  }
};

/// In training, adds a number to the values of each image and inverts those above a threshold; otherwise x. Source:
/// keras/src/layers/preprocessing/image_preprocessing/solarization.py.
class Solarization : public RandomImageLayer {
 public:
  using Options = SolarizationOptions;
  static constexpr ClassText about{"Solarization", "In training, inverts the values above a threshold: [..] -> [..]."};
  explicit Solarization(const SolarizationOptions& options = {});

 protected:
  Value transform(Value images) override;

 private:
  image_ops::Range addition_, threshold_, value_range_;
};

namespace layers {
inline constexpr Factory<RandomBrightness> random_brightness;
inline constexpr Factory<RandomColorDegeneration> random_color_degeneration;
inline constexpr Factory<RandomContrast> random_contrast;
inline constexpr Factory<RandomHue> random_hue;
inline constexpr Factory<RandomSaturation> random_saturation;
inline constexpr Factory<RandomSharpness> random_sharpness;
inline constexpr Factory<RandomPosterization> random_posterization;
inline constexpr Factory<RandomInvert> random_invert;
inline constexpr Factory<RandomGrayscale> random_grayscale;
inline constexpr Factory<RandomColorJitter> random_color_jitter;
inline constexpr Factory<RandomGaussianBlur> random_gaussian_blur;
inline constexpr Factory<Solarization> solarization;
}  // namespace layers

}  // namespace etude
