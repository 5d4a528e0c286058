#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct IdentityOptions {
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = IdentityOptions> static constexpr auto fields() { return option_rows(layer_fields<O>()); }
};

/// Its input. Source: keras/src/layers/core/identity.py.
class IdentityLayer : public Layer {
 public:
  using Options = IdentityOptions;
  static constexpr ClassText about{"Identity", "Returns its input: [..] -> [..]."};
  explicit IdentityLayer(const IdentityOptions& options = {});
  Value call(Value x, bool) override { return x; }
};

struct MaskingOptions {
  double mask_value = 0;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = MaskingOptions> static constexpr auto fields() {
    return option_rows(option<&O::mask_value>("What all features of a masked step are equal to."), layer_fields<O>());
  }
};

/// [batch, steps, ..] with a mask [batch, steps]: a step whose features are all equal to mask_value does not count, and
/// becomes 0. Throws Error(shape) for inputs without features. Source: keras/src/layers/core/masking.py.
class Masking : public Layer {
 public:
  using Options = MaskingOptions;
  static constexpr ClassText about{"Masking",
                                   "Masks the steps of which all features are mask_value: [batch, steps, "
                                   "features] -> [batch, steps, features]."};
  explicit Masking(const MaskingOptions& options = {});
  Value call(Value x, bool training) override;

 protected:
  Value mask_of(const std::vector<Value>& inputs, Value y) const override;

 private:
  double mask_value_;
};

struct ActivityRegularizationOptions {
  double l1 = 0;
  double l2 = 0;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ActivityRegularizationOptions> static constexpr auto fields() {
    return option_rows(option<&O::l1>("Factor of the sum of magnitudes."),
                       option<&O::l2>("Factor of the sum of squares."), layer_fields<O>());
  }
};

/// Its input, of which a penalty is added to the loss. Source:
/// keras/src/layers/regularization/activity_regularization.py.
class ActivityRegularization : public Layer {
 public:
  using Options = ActivityRegularizationOptions;
  static constexpr ClassText about{"ActivityRegularization", "Adds a penalty on its input to the loss: [..] -> [..]."};
  explicit ActivityRegularization(const ActivityRegularizationOptions& options = {});
  Value call(Value x, bool) override { return x; }
};

namespace layers {
inline constexpr Factory<ActivityRegularization> activity_regularization;
inline constexpr Factory<IdentityLayer> identity;
inline constexpr Factory<Masking> masking;
}  // namespace layers

}  // namespace etude
