#pragma once

#include <optional>

#include "etude/base/pair.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct MaxPooling2DOptions {
  Pair pool_size = 2;
  std::optional<Pair> strides = {};  ///< Default: pool_size.
  std::string padding = "valid";
  std::string data_format = "channels_last";
  std::string name = {};
  std::string dtype = {};

  static constexpr auto fields() {
    return option_rows(
        option<&MaxPooling2DOptions::pool_size>("Height and width of the window, or one number for both."),
        option<&MaxPooling2DOptions::strides>("Step of the window. Default: pool_size."),
        option<&MaxPooling2DOptions::padding>(
            "\"valid\", no padding, or \"same\", so that strides of 1 keep the extents."),
        option<&MaxPooling2DOptions::data_format>(
            "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
        layer_fields<MaxPooling2DOptions>());
  }
};

/// The maximum of each window, by channel: [batch, height, width, channels] -> [batch, .., .., channels]; with
/// "channels_first" the channels are second. Padding counts as -infinity.
/// Throws Error(value) for numbers below 1, Error(shape) for inputs of another rank and windows larger than the input.
/// Source: keras/src/layers/pooling/max_pooling2d.py, base_pooling.py.
class MaxPooling2D : public Layer {
 public:
  using Options = MaxPooling2DOptions;
  static constexpr ClassText about{
      "MaxPooling2D", "Maximum of each window: [batch, height, width, channels] -> [batch, .., .., channels]."};
  explicit MaxPooling2D(MaxPooling2DOptions options = {});
  Value call(Value x, bool training) override;

 private:
  const MaxPooling2DOptions& options_;
  bool channels_first_;
};

namespace layers {
inline constexpr Factory<MaxPooling2D> max_pooling2d;
}  // namespace layers

}  // namespace etude
