#pragma once

#include <cstdint>
#include <string>

#include "etude/base/backend.hpp"
#include "etude/base/doubles.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

/// The rows of the last options of layers of images.
template <class Options> constexpr auto image_fields() {
  return option_rows(
      option<&Options::data_format>("\"channels_last\", [batch, height, width, channels], or \"channels_first\"."),
      layer_fields<Options>());
}
/// The row of the range of pixels.
template <class Options> constexpr auto value_range_fields() {
  return option_rows(option<&Options::value_range>("Least and largest value of a pixel. Default: 0 and 255."));
}

/// A layer of images [batch, height, width, channels]; its options have a data_format. Unlike Keras's, it needs the
/// batch axis of a single image, too. Throws Error(shape) for inputs of other ranks. Subclasses override `transform`.
class ImageLayer : public Layer {
 public:
  Value call(Value x, bool training) final;

 protected:
  /// A layer of that class.
  template <class Options> ImageLayer(const ClassEntry& entry, const Options& options) : Layer(entry, options) {
    set_data_format(options.data_format);
  }
  /// The result for images with their channels last, in float32 or more, or of integers.
  virtual Value transform(Value images, bool training) = 0;

 private:
  void set_data_format(const std::string& data_format);

  bool channels_first_ = false;
};

struct ResizingOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::string interpolation = "bilinear";
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  std::string fill_mode = "constant";
  double fill_value = 0;
  bool antialias = false;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ResizingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::height>("Height of the results, in pixels.", Need::required),
        option<&O::width>("Width of the results, in pixels.", Need::required),
        option<&O::interpolation>("\"nearest\" or \"bilinear\"."),
        option<&O::crop_to_aspect_ratio>("Whether margins are cut off that do not fit the new aspect ratio."),
        option<&O::pad_to_aspect_ratio>("Whether margins are added where the old aspect ratio differs."),
        option<&O::fill_mode>("Must be \"constant\": added margins are fill_value."),
        option<&O::fill_value>("Value of added pixels."),
        option<&O::antialias>("Whether pixels of smaller images are averages of all that they cover."),
        image_fields<O>());
  }
};

/// Images of height x width pixels. Integers keep their dtype. Throws Error(value) for sizes below 1 and for unknown
/// names, Error(shape) for images without pixels. Source:
/// keras/src/layers/preprocessing/image_preprocessing/resizing.py.
class Resizing : public ImageLayer {
 public:
  using Options = ResizingOptions;
  static constexpr ClassText about{.name = "Resizing",
                                   .text =
                                       "Images of another size: [batch, .., .., channels] -> [batch, height, "
                                       "width, channels].",
                                   .example = R"({"height": 3, "width": 4})"};
  explicit Resizing(ResizingOptions options);

 protected:
  Value transform(Value images, bool training) override;

 private:
  const ResizingOptions& options_;
};

struct CenterCropOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = CenterCropOptions> static constexpr auto fields() {
    return option_rows(option<&O::height>("Height of the results, in pixels.", Need::required),
                       option<&O::width>("Width of the results, in pixels.", Need::required), image_fields<O>());
  }
};

/// The center of images. Smaller images are cut to the aspect ratio and enlarged. Throws as Resizing does. Source:
/// keras/src/layers/preprocessing/image_preprocessing/center_crop.py.
class CenterCrop : public ImageLayer {
 public:
  using Options = CenterCropOptions;
  static constexpr ClassText about{.name = "CenterCrop",
                                   .text =
                                       "The center of images: [batch, .., .., channels] -> [batch, height, "
                                       "width, channels].",
                                   .example = R"({"height": 3, "width": 4})"};
  explicit CenterCrop(CenterCropOptions options);

 protected:
  Value transform(Value images, bool training) override;

 private:
  const CenterCropOptions& options_;
};

struct AutoContrastOptions {
  Doubles value_range = {0, 255};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = AutoContrastOptions> static constexpr auto fields() {
    return option_rows(value_range_fields<O>(), image_fields<O>());
  }
};

/// Stretches each channel of each image so that its least and largest values are those of value_range, in training and
/// otherwise. A channel of one value stays. Source:
/// keras/src/layers/preprocessing/image_preprocessing/auto_contrast.py.
class AutoContrast : public ImageLayer {
 public:
  using Options = AutoContrastOptions;
  static constexpr ClassText about{
      "AutoContrast",
      "Stretches the channels of images to the full range of values: [.., height, width, channels] -> [..]."};
  explicit AutoContrast(AutoContrastOptions options = {});

 protected:
  Value transform(Value images, bool training) override;

 private:
  const AutoContrastOptions& options_;
};

struct EqualizationOptions {
  Doubles value_range = {0, 255};
  std::int64_t bins = 256;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = EqualizationOptions> static constexpr auto fields() {
    return option_rows(value_range_fields<O>(),
                       option<&O::bins>("Number of brightnesses that are told apart, at least 2."), image_fields<O>());
  }
};

/// In training, changes the values of each channel of each image so that all occur about equally often; otherwise x.
/// Keras with JAX counts the values of all images of a batch together. Throws Error(value) for fewer than 2 or more
/// than 65536 bins. Source: keras/src/layers/preprocessing/image_preprocessing/equalization.py.
class Equalization : public ImageLayer {
 public:
  using Options = EqualizationOptions;
  static constexpr ClassText about{
      "Equalization", "In training, equalizes the histogram of each channel: [.., height, width, channels] -> [..]."};
  explicit Equalization(EqualizationOptions options = {});

 protected:
  Value transform(Value images, bool training) override;

 private:
  const EqualizationOptions& options_;
};

namespace layers {
inline constexpr Factory<Resizing> resizing;
inline constexpr Factory<CenterCrop> center_crop;
inline constexpr Factory<AutoContrast> auto_contrast;
inline constexpr Factory<Equalization> equalization;
}  // namespace layers

}  // namespace etude
