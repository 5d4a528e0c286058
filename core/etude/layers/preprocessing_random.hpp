#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/layers/detail/image_ops.hpp"
#include "etude/layers/noise.hpp"
#include "etude/layers/preprocessing_images.hpp"

namespace etude {

/// The rows of the last options of random layers of images.
template <class Options> constexpr auto random_image_fields() {
  return option_rows(option<&Options::seed>("Seed of the random draws. Default: derived from the global seed."),
                     image_fields<Options>());
}

/// A layer that changes images [batch, height, width, channels] at random in training, each in another way; otherwise
/// it returns x. Throws Error(shape) for inputs of other ranks. Subclasses override `transform`.
class RandomImageLayer : public RandomLayer {
 public:
  Value call(Value x, bool training) override;

 protected:
  /// A layer of that class; its options have a seed and a data_format.
  template <class Options> RandomImageLayer(const ClassEntry& entry, const Options& options)
      : RandomLayer(entry, options) {
    set_data_format(options.data_format);
  }
  /// The result for images with their channels last, in float32 or more.
  virtual Value transform(Value images) = 0;
  /// Throws Error(shape) unless x is [batch, height, width, channels].
  void check_images(Value x) const;
  /// The result of a function of such images, for x.
  Value on_images(Value x, const std::function<Value(Value)>& function) const;
  /// Draws for each image, one from each range: [batch, 1, 1, 1].
  std::vector<Value> draws(Value images, std::initializer_list<image_ops::Range> ranges);
  /// A draw for all images: a scalar.
  Value draw(Value images, image_ops::Range range);

 private:
  void set_data_format(const std::string& data_format);

  bool channels_first_ = false;
};

struct RandomFlipOptions {
  std::string mode = "horizontal_and_vertical";
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomFlipOptions> static constexpr auto fields() {
    return option_rows(option<&O::mode>("\"horizontal\", \"vertical\" or \"horizontal_and_vertical\": both at once."),
                       random_image_fields<O>());
  }
};

/// In training, flips half of the images; otherwise x. Throws Error(value) for an unknown mode. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_flip.py.
class RandomFlip : public RandomImageLayer {
 public:
  using Options = RandomFlipOptions;
  static constexpr ClassText about{"RandomFlip",
                                   "In training, flips half of the images: [.., height, width, channels] -> [..]."};
  explicit RandomFlip(RandomFlipOptions options = {});

 protected:
  Value transform(Value images) override;

 private:
  const RandomFlipOptions& options_;
};

struct RandomCropOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomCropOptions> static constexpr auto fields() {
    return option_rows(option<&O::height>("Height of the results, in pixels.", Need::required),
                       option<&O::width>("Width of the results, in pixels.", Need::required), random_image_fields<O>());
  }
};

/// In training, a window at a random place, the same for all images of a batch; otherwise, and of smaller images, the
/// largest central window of that aspect ratio, resized. Throws as CenterCrop does. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_crop.py.
class RandomCrop : public RandomImageLayer {
 public:
  using Options = RandomCropOptions;
  static constexpr ClassText about{.name = "RandomCrop",
                                   .text =
                                       "In training, a window at a random place: [batch, .., .., channels] -> "
                                       "[batch, height, width, channels].",
                                   .example = R"({"height": 3, "width": 4})"};
  explicit RandomCrop(RandomCropOptions options);
  Value call(Value x, bool training) override;

 protected:
  Value transform(Value images) override;

 private:
  Value central(Value images) const;

  const RandomCropOptions& options_;
};

/// The rows of the sampling of transformed images.
template <class Options> constexpr auto sampling_fields() {
  return option_rows(
      option<&Options::fill_mode>("Beyond the edges: \"reflect\", \"wrap\", \"nearest\": the pixels of the edge, or "
                                  "\"constant\": fill_value."),
      option<&Options::interpolation>("\"nearest\" or \"bilinear\"."),
      option<&Options::fill_value>("Value of pixels beyond the edges, with fill_mode \"constant\"."));
}

/// A layer that maps the coordinates of pixels by an affine function, which is drawn for each image. Throws
/// Error(value) for factors out of range and for unknown names.
class RandomTransform : public RandomImageLayer {
 protected:
  /// A layer of that class; its options have a fill_mode, an interpolation and a fill_value.
  template <class Options> RandomTransform(const ClassEntry& entry, const Options& options)
      : RandomImageLayer(entry, options),
        sampling_(image_ops::sampling_of(options.fill_mode, options.interpolation, options.fill_value, where())) {}
  Value transform(Value images) final;
  /// The function of an image's coordinates.
  virtual image_ops::Affine affine(Value images) = 0;

 private:
  image_ops::Sampling sampling_;
};

struct RandomTranslationOptions {
  Doubles height_factor = {};
  Doubles width_factor = {};
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  std::optional<std::int64_t> seed = {};
  double fill_value = 0;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomTranslationOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::height_factor>("Least and greatest shift down, as a fraction of the height; or one number for "
                                  "shifts of both directions.",
                                  Need::required),
        option<&O::width_factor>("The same to the right, as a fraction of the width.", Need::required),
        sampling_fields<O>(), random_image_fields<O>());
  }
};

/// Source: keras/src/layers/preprocessing/image_preprocessing/random_translation.py.
class RandomTranslation : public RandomTransform {
 public:
  using Options = RandomTranslationOptions;
  static constexpr ClassText about{.name = "RandomTranslation",
                                   .text = "In training, shifts images: [.., height, width, channels] -> [..].",
                                   .example = R"({"height_factor": 0.2, "width_factor": 0.1})"};
  explicit RandomTranslation(const RandomTranslationOptions& options);

 protected:
  image_ops::Affine affine(Value images) override;

 private:
  image_ops::Range height_, width_;
};

struct RandomZoomOptions {
  Doubles height_factor = {};
  Doubles width_factor = {};
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  std::optional<std::int64_t> seed = {};
  double fill_value = 0;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomZoomOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::height_factor>("Least and greatest growth of the visible height, as a fraction: positive "
                                  "numbers zoom out; or one number for both directions.",
                                  Need::required),
        option<&O::width_factor>("The same of the width. Default: the aspect ratio is kept."), sampling_fields<O>(),
        random_image_fields<O>());
  }
};

/// Source: keras/src/layers/preprocessing/image_preprocessing/random_zoom.py.
class RandomZoom : public RandomTransform {
 public:
  using Options = RandomZoomOptions;
  static constexpr ClassText about{
      .name = "RandomZoom",
      .text = "In training, zooms into images and out: [.., height, width, channels] -> [..].",
      .example = R"({"height_factor": 0.2})"};
  explicit RandomZoom(const RandomZoomOptions& options);

 protected:
  image_ops::Affine affine(Value images) override;

 private:
  image_ops::Range height_, width_;
  bool keeps_ratio_;
};

struct RandomRotationOptions {
  Doubles factor = {};
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  std::optional<std::int64_t> seed = {};
  double fill_value = 0;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomRotationOptions> static constexpr auto fields() {
    return option_rows(option<&O::factor>("Least and greatest angle, as a fraction of a full turn; or one number "
                                          "for both directions.",
                                          Need::required),
                       sampling_fields<O>(), random_image_fields<O>());
  }
};

/// Source: keras/src/layers/preprocessing/image_preprocessing/random_rotation.py.
class RandomRotation : public RandomTransform {
 public:
  using Options = RandomRotationOptions;
  static constexpr ClassText about{.name = "RandomRotation",
                                   .text = "In training, rotates images: [.., height, width, channels] -> [..].",
                                   .example = R"({"factor": 0.1})"};
  explicit RandomRotation(const RandomRotationOptions& options);

 protected:
  image_ops::Affine affine(Value images) override;

 private:
  image_ops::Range turns_;
};

struct RandomShearOptions {
  Doubles x_factor = 0.0;
  Doubles y_factor = 0.0;
  std::string interpolation = "bilinear";
  std::string fill_mode = "reflect";
  double fill_value = 0;
  std::string data_format = image_data_format();
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomShearOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::x_factor>("Least and greatest shift of a row, in pixels per row, from 0 to 1; or one number. "
                             "Both directions occur."),
        option<&O::y_factor>("The same of columns."), sampling_fields<O>(), random_image_fields<O>());
  }
};

/// Source: keras/src/layers/preprocessing/image_preprocessing/random_shear.py.
class RandomShear : public RandomTransform {
 public:
  using Options = RandomShearOptions;
  static constexpr ClassText about{"RandomShear", "In training, shears images: [.., height, width, channels] -> [..]."};
  explicit RandomShear(const RandomShearOptions& options = {});

 protected:
  image_ops::Affine affine(Value images) override;

 private:
  image_ops::Range x_, y_;
};

namespace layers {
inline constexpr Factory<RandomFlip> random_flip;
inline constexpr Factory<RandomCrop> random_crop;
inline constexpr Factory<RandomTranslation> random_translation;
inline constexpr Factory<RandomZoom> random_zoom;
inline constexpr Factory<RandomRotation> random_rotation;
inline constexpr Factory<RandomShear> random_shear;
}  // namespace layers

}  // namespace etude
