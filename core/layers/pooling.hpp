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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("pool_size", self.pool_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
    visit("data_format", self.data_format);
    visit("name", self.name);
    visit("dtype", self.dtype);
  }
};

/// The largest of each window, channel by channel: [batch, height, width, channels] -> [batch, .., .., channels], or
/// with the channels second where data_format is "channels_first". Padding counts as -infinity.
/// Throws Error(value) for numbers below 1, Error(shape) for inputs of another rank and windows larger than the input.
/// Source: keras/src/layers/pooling/max_pooling2d.py, base_pooling.py.
class MaxPooling2D : public Layer {
 public:
  explicit MaxPooling2D(MaxPooling2DOptions options = {});
  Value call(Value x, bool training) override;

 private:
  MaxPooling2DOptions options_;
  bool channels_first_;
};

}  // namespace etude
