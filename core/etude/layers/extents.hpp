#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "etude/base/backend.hpp"
#include "etude/base/integers.hpp"
#include "etude/base/margins.hpp"
#include "etude/layers/layer.hpp"
#include "etude/layers/spatial.hpp"

namespace etude {

struct CroppingOptions {
  Margins cropping = 1;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = CroppingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::cropping>("Entries cut from both ends of axes: a number, one for each axis, or two for each."),
        option<&O::data_format>(
            "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
        layer_fields<O>());
  }
};
/// The same of images; Keras cuts nothing unless `cropping` is set.
struct ImageCroppingOptions {
  Margins cropping = 0;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ImageCroppingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::cropping>("Entries cut from both ends of axes: a number, one for each axis, or two for each."),
        option<&O::data_format>("\"channels_last\", [batch, height, width, channels], or \"channels_first\", [batch, "
                                "channels, height, width]."),
        layer_fields<O>());
  }
};
/// The same of steps, whose channels are last.
struct StepsCroppingOptions {
  Margins cropping = 1;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = StepsCroppingOptions> static constexpr auto fields() {
    return option_rows(option<&O::cropping>("Steps cut from both ends: a number, or one for each end."),
                       layer_fields<O>());
  }
};
struct ZeroPaddingOptions {
  Margins padding = 1;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ZeroPaddingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::padding>("Zeros added at both ends of axes: a number, one for each axis, or two for each."),
        option<&O::data_format>(
            "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
        layer_fields<O>());
  }
};
struct UpSamplingOptions {
  Integers size = 2;
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = UpSamplingOptions> static constexpr auto fields() {
    return option_rows(option<&O::size>("Times that entries are repeated along each axis, or one number for all."),
                       option<&O::data_format>(
                           "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
                       layer_fields<O>());
  }
};
/// The same of steps, whose channels are last.
struct StepsUpSamplingOptions {
  Integers size = 2;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = StepsUpSamplingOptions> static constexpr auto fields() {
    return option_rows(option<&O::size>("Times that steps are repeated."), layer_fields<O>());
  }
};
/// The same of images.
struct ImageUpSamplingOptions {
  Integers size = 2;
  std::string data_format = image_data_format();
  std::string interpolation = "nearest";
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ImageUpSamplingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::size>("Times that entries are repeated along each axis, or one number for both."),
        option<&O::data_format>(
            "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
        option<&O::interpolation>("\"nearest\", which repeats pixels, or \"bilinear\", which mixes neighbors."),
        layer_fields<O>());
  }
};

/// The base of layers that change the extents of spatial axes, each independently: [batch, .., channels] -> [batch, ..,
/// channels], or with the channels second if data_format is "channels_first". Throws Error(value) for another
/// data_format, Error(shape) for inputs of another rank.
class ExtentLayer : public Layer {
 public:
  Value call(Value x, bool training) final;

 protected:
  /// Of a class with `rank` spatial axes.
  template <class Options>
  ExtentLayer(const ClassEntry& entry, const Options& options, std::size_t rank) : Layer(entry, options), rank_(rank) {
    set_supports_masking(false);
    if constexpr (requires { options.data_format; }) set_data_format(options.data_format);
  }

  /// x with another extent of one axis, which is spatial axis `i`.
  virtual Value changed(Value x, std::ptrdiff_t axis, std::size_t i) const = 0;
  /// The numbers before and after each spatial axis. Throws Error(value) for another count, or below 0.
  std::array<std::array<std::int64_t, 2>, 3> ends(const char* name, const Margins& given) const;
  /// The number of spatial axes.
  std::size_t rank() const { return rank_; }

 private:
  void set_data_format(const std::string& data_format);

  std::size_t rank_;
  bool channels_first_ = false;
};

/// Cuts entries from both ends of spatial axes. Also throws Error(shape) where none is left. Source:
/// keras/src/layers/reshaping/cropping2d.py.
class Cropping : public ExtentLayer {
 protected:
  /// Of a class with `rank` spatial axes.
  template <class Options>
  Cropping(const ClassEntry& entry, const Options& options, std::size_t rank)
      : ExtentLayer(entry, options, rank), ends_(ends("cropping", options.cropping)) {}
  Value changed(Value x, std::ptrdiff_t axis, std::size_t i) const final;

 private:
  std::array<std::array<std::int64_t, 2>, 3> ends_;
};
/// Adds zeros at both ends of spatial axes. Source: keras/src/layers/reshaping/zero_padding2d.py.
class ZeroPadding : public ExtentLayer {
 protected:
  /// Of a class with `rank` spatial axes.
  template <class Options>
  ZeroPadding(const ClassEntry& entry, const Options& options, std::size_t rank)
      : ExtentLayer(entry, options, rank), ends_(ends("padding", options.padding)) {}
  Value changed(Value x, std::ptrdiff_t axis, std::size_t i) const final;

 private:
  std::array<std::array<std::int64_t, 2>, 3> ends_;
};
/// Repeats the entries of spatial axes, or mixes neighbors. Also throws Error(value) for another interpolation. Source:
/// keras/src/layers/reshaping/up_sampling2d.py.
class UpSampling : public ExtentLayer {
 protected:
  /// Of a class with `rank` spatial axes.
  template <class Options>
  UpSampling(const ClassEntry& entry, const Options& options, std::size_t rank)
      : ExtentLayer(entry, options, rank), size_(spatial::numbers("size", options.size, rank, where())) {
    if constexpr (requires { options.interpolation; }) set_interpolation(options.interpolation);
  }
  Value changed(Value x, std::ptrdiff_t axis, std::size_t i) const final;

 private:
  void set_interpolation(const std::string& interpolation);

  spatial::Numbers size_;
  bool bilinear_ = false;
};

/// Source: keras/src/layers/reshaping/cropping1d.py.
class Cropping1D : public Cropping {
 public:
  using Options = StepsCroppingOptions;
  static constexpr ClassText about{
      "Cropping1D", "Cuts entries from both ends of steps: [batch, steps, channels] -> [batch, .., channels]."};
  explicit Cropping1D(const Options& options = {});
};
/// Source: keras/src/layers/reshaping/cropping2d.py.
class Cropping2D : public Cropping {
 public:
  using Options = ImageCroppingOptions;
  static constexpr ClassText about{
      "Cropping2D",
      "Cuts entries from both ends of images: [batch, height, width, channels] -> [batch, .., channels]."};
  explicit Cropping2D(const Options& options = {});
};
/// Source: keras/src/layers/reshaping/cropping3d.py.
class Cropping3D : public Cropping {
 public:
  using Options = CroppingOptions;
  static constexpr ClassText about{
      "Cropping3D",
      "Cuts entries from both ends of volumes: [batch, depth, height, width, channels] -> [batch, .., channels]."};
  explicit Cropping3D(const Options& options = {});
};
/// Source: keras/src/layers/reshaping/zero_padding1d.py.
class ZeroPadding1D : public ZeroPadding {
 public:
  using Options = ZeroPaddingOptions;
  static constexpr ClassText about{
      "ZeroPadding1D", "Adds zeros at both ends of steps: [batch, steps, channels] -> [batch, .., channels]."};
  explicit ZeroPadding1D(const Options& options = {});
};
/// Source: keras/src/layers/reshaping/zero_padding2d.py.
class ZeroPadding2D : public ZeroPadding {
 public:
  using Options = ZeroPaddingOptions;
  static constexpr ClassText about{
      "ZeroPadding2D", "Adds zeros at both ends of images: [batch, height, width, channels] -> [batch, .., channels]."};
  explicit ZeroPadding2D(const Options& options = {});
};
/// Source: keras/src/layers/reshaping/zero_padding3d.py.
class ZeroPadding3D : public ZeroPadding {
 public:
  using Options = ZeroPaddingOptions;
  static constexpr ClassText about{
      "ZeroPadding3D",
      "Adds zeros at both ends of volumes: [batch, depth, height, width, channels] -> [batch, .., channels]."};
  explicit ZeroPadding3D(const Options& options = {});
};
/// Source: keras/src/layers/reshaping/up_sampling1d.py.
class UpSampling1D : public UpSampling {
 public:
  using Options = StepsUpSamplingOptions;
  static constexpr ClassText about{"UpSampling1D",
                                   "Repeats entries of steps: [batch, steps, channels] -> [batch, .., channels]."};
  explicit UpSampling1D(const Options& options = {});
};
/// Source: keras/src/layers/reshaping/up_sampling2d.py.
class UpSampling2D : public UpSampling {
 public:
  using Options = ImageUpSamplingOptions;
  static constexpr ClassText about{
      "UpSampling2D", "Repeats entries of images: [batch, height, width, channels] -> [batch, .., channels]."};
  explicit UpSampling2D(const Options& options = {});
};
/// Source: keras/src/layers/reshaping/up_sampling3d.py.
class UpSampling3D : public UpSampling {
 public:
  using Options = UpSamplingOptions;
  static constexpr ClassText about{
      "UpSampling3D", "Repeats entries of volumes: [batch, depth, height, width, channels] -> [batch, .., channels]."};
  explicit UpSampling3D(const Options& options = {});
};

namespace layers {
inline constexpr Factory<Cropping1D> cropping1d;
inline constexpr Factory<Cropping2D> cropping2d;
inline constexpr Factory<Cropping3D> cropping3d;
inline constexpr Factory<ZeroPadding1D> zero_padding1d;
inline constexpr Factory<ZeroPadding2D> zero_padding2d;
inline constexpr Factory<ZeroPadding3D> zero_padding3d;
inline constexpr Factory<UpSampling1D> up_sampling1d;
inline constexpr Factory<UpSampling2D> up_sampling2d;
inline constexpr Factory<UpSampling3D> up_sampling3d;
}  // namespace layers

}  // namespace etude
