#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct FlattenOptions {
  std::string data_format = "channels_last";
  std::string name = {};
  std::string dtype = {};
  static constexpr auto fields() {
    return option_rows(option<&FlattenOptions::data_format>(
                           "\"channels_last\", [batch, .., channels], or \"channels_first\", [batch, channels, ..]."),
                       layer_fields<FlattenOptions>());
  }
};

/// [batch, ..] -> [batch, product of the rest]; [batch] -> [batch, 1]. "channels_first" data is first transposed to the
/// order of "channels_last". Throws Error(value) for another data_format. Source:
/// keras/src/layers/reshaping/flatten.py.
class Flatten : public Layer {
 public:
  using Options = FlattenOptions;
  static constexpr ClassText about{"Flatten", "Flattens all axes but the batch: [batch, ..] -> [batch, size]."};
  explicit Flatten(FlattenOptions options = {});
  Value call(Value x, bool training) override;

 private:
  bool channels_first_;
};

namespace layers {
inline constexpr Factory<Flatten> flatten;
}  // namespace layers

}  // namespace etude
