#pragma once

#include "etude/base/backend.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/layer.hpp"
#include "etude/layers/spatial.hpp"

namespace etude {

/// The options of all pooling layers with a window.
struct PoolingOptions {
  Integers pool_size = 2;
  Integers strides = {};  ///< Default: pool_size.
  std::string padding = "valid";
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = PoolingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::pool_size>("Extent of the window along each axis, or one number for all."),
        option<&O::strides>("Step of the window along each axis. Default: pool_size."),
        option<&O::padding>("\"valid\", no padding, or \"same\", so that strides of 1 keep the extents."),
        option<&O::data_format>(
            "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
        layer_fields<O>());
  }
};

/// A window over one to three spatial axes, channel by channel: [batch, .., channels] -> [batch, .., channels], or with
/// the channels second if data_format is "channels_first". Throws Error(value) for numbers below 1 or another count of
/// them, for another padding or data_format; Error(shape) for inputs of another rank and windows larger than the input.
/// Source: keras/src/layers/pooling/base_pooling.py.
class PoolingLayer : public Layer {
 public:
  using Options = PoolingOptions;
  Value call(Value x, bool training) final;

 protected:
  /// The reduction of the elements of a window.
  enum class Kind : std::uint8_t { max, average };
  /// Of a class with `rank` spatial axes.
  PoolingLayer(const ClassEntry& entry, PoolingOptions options, std::size_t rank, Kind kind);

 private:
  Value max(Value x, const spatial::VolumeWindow& window) const;
  Value average(Value x, const spatial::VolumeWindow& window) const;

  std::size_t rank_;
  Kind kind_;
  bool channels_first_;
  std::string padding_;
  spatial::VolumeWindow window_;
};

/// The largest element of each window. Padding counts as -infinity. Source:
/// keras/src/layers/pooling/max_pooling1d.py.
class MaxPooling1D : public PoolingLayer {
 public:
  static constexpr ClassText about{
      "MaxPooling1D", "Maximum of each window: [batch, steps, channels] -> [batch, .., channels].", "MaxPool1D"};
  explicit MaxPooling1D(PoolingOptions options = {});
};
/// Source: keras/src/layers/pooling/max_pooling2d.py.
class MaxPooling2D : public PoolingLayer {
 public:
  static constexpr ClassText about{
      "MaxPooling2D", "Maximum of each window: [batch, height, width, channels] -> [batch, .., .., channels].",
      "MaxPool2D"};
  explicit MaxPooling2D(PoolingOptions options = {});
};
/// Source: keras/src/layers/pooling/max_pooling3d.py.
class MaxPooling3D : public PoolingLayer {
 public:
  static constexpr ClassText about{
      "MaxPooling3D",
      "Maximum of each window: [batch, depth, height, width, channels] -> [batch, .., .., .., channels].", "MaxPool3D"};
  explicit MaxPooling3D(PoolingOptions options = {});
};

/// The mean of each window. Padding does not count. Source: keras/src/layers/pooling/average_pooling1d.py.
class AveragePooling1D : public PoolingLayer {
 public:
  static constexpr ClassText about{
      "AveragePooling1D", "Mean of each window: [batch, steps, channels] -> [batch, .., channels].", "AvgPool1D"};
  explicit AveragePooling1D(PoolingOptions options = {});
};
/// Source: keras/src/layers/pooling/average_pooling2d.py.
class AveragePooling2D : public PoolingLayer {
 public:
  static constexpr ClassText about{
      "AveragePooling2D", "Mean of each window: [batch, height, width, channels] -> [batch, .., .., channels].",
      "AvgPool2D"};
  explicit AveragePooling2D(PoolingOptions options = {});
};
/// Source: keras/src/layers/pooling/average_pooling3d.py.
class AveragePooling3D : public PoolingLayer {
 public:
  static constexpr ClassText about{
      "AveragePooling3D",
      "Mean of each window: [batch, depth, height, width, channels] -> [batch, .., .., .., channels].", "AvgPool3D"};
  explicit AveragePooling3D(PoolingOptions options = {});
};

namespace layers {
inline constexpr Factory<MaxPooling1D> max_pooling1d;
inline constexpr Factory<MaxPooling2D> max_pooling2d;
inline constexpr Factory<MaxPooling3D> max_pooling3d;
inline constexpr Factory<AveragePooling1D> average_pooling1d;
inline constexpr Factory<AveragePooling2D> average_pooling2d;
inline constexpr Factory<AveragePooling3D> average_pooling3d;
}  // namespace layers

}  // namespace etude
