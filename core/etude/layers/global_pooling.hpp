#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct GlobalAveragePooling1DOptions {
  std::string data_format = "channels_last";
  bool keepdims = false;
  std::string name = {};
  std::string dtype = {};
  static constexpr auto fields() {
    return option_rows(
        option<&GlobalAveragePooling1DOptions::data_format>(
            "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
        option<&GlobalAveragePooling1DOptions::keepdims>("Whether the axis of the steps is kept, with extent 1."),
        layer_fields<GlobalAveragePooling1DOptions>());
  }
};

/// The mean over the steps: [batch, steps, features] -> [batch, features], or [batch, 1, features] with keepdims; for
/// "channels_first" data [batch, features, steps] -> [batch, features]. With a mask [batch, steps], the mean over the
/// unmasked steps. Throws Error(value) for another data_format, Error(shape) for inputs of another rank.
/// Source: keras/src/layers/pooling/global_average_pooling1d.py.
class GlobalAveragePooling1D : public Layer {
 public:
  using Options = GlobalAveragePooling1DOptions;
  static constexpr ClassText about{"GlobalAveragePooling1D",
                                   "Mean over the steps: [batch, steps, features] -> [batch, features]."};
  explicit GlobalAveragePooling1D(GlobalAveragePooling1DOptions options = {});
  Value call(Value x, bool training) override;

 protected:
  Value mask_of(const std::vector<Value>&, Value) const override { return {}; }

 private:
  bool channels_first_, keepdims_;
};

namespace layers {
inline constexpr Factory<GlobalAveragePooling1D> global_average_pooling1d;
}  // namespace layers

}  // namespace etude
