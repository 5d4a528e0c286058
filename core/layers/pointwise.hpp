#pragma once

#include "etude/activations/activations.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct ActivationOptions {
  Activation activation = "linear";
  std::string name = {};
  std::string dtype = {};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("activation", self.activation);
    visit("name", self.name);
    visit("dtype", self.dtype);
  }
};

/// An activation as a layer of its own. Source: keras/src/layers/activations/activation.py.
class ActivationLayer : public Layer {
 public:
  explicit ActivationLayer(ActivationOptions options);
  Value call(Value x, bool training) override;

 private:
  Activation activation_;
};

struct RescalingOptions {
  double scale = 1, offset = 0;
  std::string name = {};
  std::string dtype = {};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("scale", self.scale);
    visit("offset", self.offset);
    visit("name", self.name);
    visit("dtype", self.dtype);
  }
};

/// x · scale + offset, of any dtype: how uint8 images become floats. Source:
/// keras/src/layers/preprocessing/rescaling.py.
class Rescaling : public Layer {
 public:
  explicit Rescaling(RescalingOptions options);
  Value call(Value x, bool training) override;

 private:
  double scale_, offset_;
};

}  // namespace etude
