#pragma once

#include "etude/activations/activations.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct ActivationOptions {
  Activation activation = "linear";
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ActivationOptions> static constexpr auto fields() {
    return option_rows(option<&O::activation>("The function, by name or as a function.", Need::required),
                       layer_fields<O>());
  }
};

/// An activation as a layer. Source: keras/src/layers/activations/activation.py.
class ActivationLayer : public Layer {
 public:
  using Options = ActivationOptions;
  static constexpr ClassText about{"Activation", "Applies an activation to its input: [..] -> [..]."};
  explicit ActivationLayer(ActivationOptions options);
  explicit ActivationLayer(const char* name) : ActivationLayer(ActivationOptions{.activation = name}) {}
  Value call(Value x, bool training) override;

 private:
  Activation activation_;
};

struct RescalingOptions {
  initializers::ConstantValue scale = 1, offset = 0;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RescalingOptions> static constexpr auto fields() {
    return option_rows(option<&O::scale>("Factor of the inputs: a number, or one for each channel.", Need::required),
                       option<&O::offset>("Added after the product: a number, or one for each channel. Default: 0."),
                       layer_fields<O>());
  }
};

/// x · scale + offset, for any dtype: converts uint8 images to floats. Arrays are broadcast to the inputs by NumPy's
/// rule; other shapes throw Error(shape). Source: keras/src/layers/preprocessing/rescaling.py.
class Rescaling : public Layer {
 public:
  using Options = RescalingOptions;
  static constexpr ClassText about{
      .name = "Rescaling", .text = "x · scale + offset: [..] -> [..].", .example = R"({"scale": 0.5})"};
  explicit Rescaling(RescalingOptions options);
  Value call(Value x, bool training) override;

 private:
  const RescalingOptions& options_;
};

namespace layers {
inline constexpr Factory<ActivationLayer> activation;
inline constexpr Factory<Rescaling> rescaling;
}  // namespace layers

}  // namespace etude
