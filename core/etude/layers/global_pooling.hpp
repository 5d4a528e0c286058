#pragma once

#include "etude/base/backend.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct GlobalPoolingOptions {
  std::string data_format = image_data_format();
  bool keepdims = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = GlobalPoolingOptions> static constexpr auto fields() {
    return option_rows(option<&O::data_format>(
                           "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
                       option<&O::keepdims>("Whether spatial axes are kept, with extents of 1."), layer_fields<O>());
  }
};

/// The mean or maximum over all spatial axes: [batch, .., channels] -> [batch, channels], or [batch, 1.., channels]
/// with keepdims; data with the channels second stays so. The mean over steps under a mask [batch, steps] is that over
/// the steps that count. Throws Error(value) for another data_format, Error(shape) for inputs of another rank.
/// Source: keras/src/layers/pooling/base_global_pooling.py.
class GlobalPooling : public Layer {
 public:
  using Options = GlobalPoolingOptions;
  Value call(Value x, bool training) final;

 protected:
  /// The reduction of all elements of a channel.
  enum class Kind : std::uint8_t { max, average };
  /// Of a class with `rank` spatial axes.
  GlobalPooling(const ClassEntry& entry, const GlobalPoolingOptions& options, std::size_t rank, Kind kind);
  Value mask_of(const std::vector<Value>&, Value) const final { return {}; }

 private:
  std::size_t rank_;
  Kind kind_;
  bool channels_first_, keepdims_;
};

/// Source: keras/src/layers/pooling/global_average_pooling1d.py.
class GlobalAveragePooling1D : public GlobalPooling {
 public:
  static constexpr ClassText about{"GlobalAveragePooling1D",
                                   "Mean over the steps: [batch, steps, channels] -> [batch, channels].",
                                   "GlobalAvgPool1D"};
  explicit GlobalAveragePooling1D(const GlobalPoolingOptions& options = {});
};
/// Source: keras/src/layers/pooling/global_average_pooling2d.py.
class GlobalAveragePooling2D : public GlobalPooling {
 public:
  static constexpr ClassText about{"GlobalAveragePooling2D",
                                   "Mean over images: [batch, height, width, channels] -> [batch, channels].",
                                   "GlobalAvgPool2D"};
  explicit GlobalAveragePooling2D(const GlobalPoolingOptions& options = {});
};
/// Source: keras/src/layers/pooling/global_average_pooling3d.py.
class GlobalAveragePooling3D : public GlobalPooling {
 public:
  static constexpr ClassText about{"GlobalAveragePooling3D",
                                   "Mean over volumes: [batch, depth, height, width, channels] -> [batch, channels].",
                                   "GlobalAvgPool3D"};
  explicit GlobalAveragePooling3D(const GlobalPoolingOptions& options = {});
};
/// Source: keras/src/layers/pooling/global_max_pooling1d.py.
class GlobalMaxPooling1D : public GlobalPooling {
 public:
  static constexpr ClassText about{"GlobalMaxPooling1D",
                                   "Maximum over the steps: [batch, steps, channels] -> [batch, channels].",
                                   "GlobalMaxPool1D"};
  explicit GlobalMaxPooling1D(const GlobalPoolingOptions& options = {});
};
/// Source: keras/src/layers/pooling/global_max_pooling2d.py.
class GlobalMaxPooling2D : public GlobalPooling {
 public:
  static constexpr ClassText about{"GlobalMaxPooling2D",
                                   "Maximum over images: [batch, height, width, channels] -> [batch, channels].",
                                   "GlobalMaxPool2D"};
  explicit GlobalMaxPooling2D(const GlobalPoolingOptions& options = {});
};
/// Source: keras/src/layers/pooling/global_max_pooling3d.py.
class GlobalMaxPooling3D : public GlobalPooling {
 public:
  static constexpr ClassText about{
      "GlobalMaxPooling3D", "Maximum over volumes: [batch, depth, height, width, channels] -> [batch, channels].",
      "GlobalMaxPool3D"};
  explicit GlobalMaxPooling3D(const GlobalPoolingOptions& options = {});
};

namespace layers {
inline constexpr Factory<GlobalAveragePooling1D> global_average_pooling1d;
inline constexpr Factory<GlobalAveragePooling2D> global_average_pooling2d;
inline constexpr Factory<GlobalAveragePooling3D> global_average_pooling3d;
inline constexpr Factory<GlobalMaxPooling1D> global_max_pooling1d;
inline constexpr Factory<GlobalMaxPooling2D> global_max_pooling2d;
inline constexpr Factory<GlobalMaxPooling3D> global_max_pooling3d;
}  // namespace layers

}  // namespace etude
