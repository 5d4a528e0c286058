#pragma once

#include <cstdint>

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

struct DropoutOptions {
  double rate = 0;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("rate", self.rate);
    visit("seed", self.seed);
    visit("name", self.name);
    visit("dtype", self.dtype);
  }
};

/// In training sets each element to 0 with probability `rate` and scales the rest by 1 / (1 - rate); otherwise x
/// . Throws Error(value) unless 0 ≤ rate ≤ 1. Source: keras/src/layers/regularization/dropout.py.
class Dropout : public Layer {
 public:
  explicit Dropout(DropoutOptions options);
  Value call(Value x, bool training) override;
  std::optional<RandomKey> random_key() const override { return key_; }
  void set_random_key(const RandomKey& key) override { key_ = key; }

 private:
  double rate_;
  RandomKey key_;
  Variable calls_;
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
