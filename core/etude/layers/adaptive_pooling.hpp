#pragma once

#include "etude/base/backend.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/layer.hpp"
#include "etude/layers/spatial.hpp"

namespace etude {

struct AdaptivePoolingOptions {
  Integers output_size = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = AdaptivePoolingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::output_size>("Extent of the result along each axis, or one number for all.", Need::required),
        option<&O::data_format>(
            "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
        layer_fields<O>());
  }
};

/// The mean or maximum of windows that divide each spatial axis of n entries into output_size: window i has the entries
/// from floor(i · n / output_size) to ceil((i + 1) · n / output_size). [batch, .., channels] -> [batch, *output_size,
/// channels], or with the channels second if data_format is "channels_first". Throws Error(value) for numbers below 1
/// or another count of them, Error(shape) for inputs of another rank or without entries, and where windows of different
/// extents are more than 65536. Source: keras/src/layers/pooling/base_adaptive_pooling.py.
class AdaptivePooling : public Layer {
 public:
  using Options = AdaptivePoolingOptions;
  Value call(Value x, bool training) final;

 protected:
  /// The reduction of the elements of a window.
  enum class Kind : std::uint8_t { max, average };
  /// Of a class with `rank` spatial axes.
  AdaptivePooling(const ClassEntry& entry, const AdaptivePoolingOptions& options, std::size_t rank, Kind kind);

 private:
  Value pooled(Value x, std::ptrdiff_t axis, std::int64_t count) const;

  std::size_t rank_;
  Kind kind_;
  bool channels_first_;
  spatial::Numbers output_size_;
};

/// Source: keras/src/layers/pooling/adaptive_average_pooling1d.py.
class AdaptiveAveragePooling1D : public AdaptivePooling {
 public:
  static constexpr ClassText about{
      .name = "AdaptiveAveragePooling1D",
      .text = "Mean of windows that divide steps: [batch, steps, channels] -> [batch, output_size, channels].",
      .example = R"({"output_size": 2})"};
  explicit AdaptiveAveragePooling1D(const AdaptivePoolingOptions& options);
};
/// Source: keras/src/layers/pooling/adaptive_average_pooling2d.py.
class AdaptiveAveragePooling2D : public AdaptivePooling {
 public:
  static constexpr ClassText about{
      .name = "AdaptiveAveragePooling2D",
      .text =
          "Mean of windows that divide images: [batch, height, width, channels] -> [batch, *output_size, channels].",
      .example = R"({"output_size": 2})"};
  explicit AdaptiveAveragePooling2D(const AdaptivePoolingOptions& options);
};
/// Source: keras/src/layers/pooling/adaptive_average_pooling3d.py.
class AdaptiveAveragePooling3D : public AdaptivePooling {
 public:
  static constexpr ClassText about{.name = "AdaptiveAveragePooling3D",
                                   .text =
                                       "Mean of windows that divide volumes: [batch, depth, height, width, channels] "
                                       "-> [batch, *output_size, channels].",
                                   .example = R"({"output_size": 2})"};
  explicit AdaptiveAveragePooling3D(const AdaptivePoolingOptions& options);
};
/// Source: keras/src/layers/pooling/adaptive_max_pooling1d.py.
class AdaptiveMaxPooling1D : public AdaptivePooling {
 public:
  static constexpr ClassText about{
      .name = "AdaptiveMaxPooling1D",
      .text = "Maximum of windows that divide steps: [batch, steps, channels] -> [batch, output_size, channels].",
      .example = R"({"output_size": 2})"};
  explicit AdaptiveMaxPooling1D(const AdaptivePoolingOptions& options);
};
/// Source: keras/src/layers/pooling/adaptive_max_pooling2d.py.
class AdaptiveMaxPooling2D : public AdaptivePooling {
 public:
  static constexpr ClassText about{
      .name = "AdaptiveMaxPooling2D",
      .text =
          "Maximum of windows that divide images: [batch, height, width, channels] -> [batch, *output_size, channels].",
      .example = R"({"output_size": 2})"};
  explicit AdaptiveMaxPooling2D(const AdaptivePoolingOptions& options);
};
/// Source: keras/src/layers/pooling/adaptive_max_pooling3d.py.
class AdaptiveMaxPooling3D : public AdaptivePooling {
 public:
  static constexpr ClassText about{.name = "AdaptiveMaxPooling3D",
                                   .text =
                                       "Maximum of windows that divide volumes: [batch, depth, height, width, "
                                       "channels] -> [batch, *output_size, channels].",
                                   .example = R"({"output_size": 2})"};
  explicit AdaptiveMaxPooling3D(const AdaptivePoolingOptions& options);
};

namespace layers {
inline constexpr Factory<AdaptiveAveragePooling1D> adaptive_average_pooling1d;
inline constexpr Factory<AdaptiveAveragePooling2D> adaptive_average_pooling2d;
inline constexpr Factory<AdaptiveAveragePooling3D> adaptive_average_pooling3d;
inline constexpr Factory<AdaptiveMaxPooling1D> adaptive_max_pooling1d;
inline constexpr Factory<AdaptiveMaxPooling2D> adaptive_max_pooling2d;
inline constexpr Factory<AdaptiveMaxPooling3D> adaptive_max_pooling3d;
}  // namespace layers

}  // namespace etude
