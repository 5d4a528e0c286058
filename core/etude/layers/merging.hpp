#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct MergeOptions {
  std::string name = {};
  std::string dtype = {};
  static constexpr auto fields() { return option_rows(layer_fields<MergeOptions>()); }
};

/// The base of layers that merge a list of Values into one: extents of 1 broadcast, and inputs of lower rank get axes
/// after the batch axis. If all inputs have a mask, the result has one: entries count that count in any input. Throws
/// Error(value) for a call without a list, Error(shape) for different batch sizes or shapes that do not broadcast.
/// Source: keras/src/layers/merging/base_merge.py.
class MergeLayer : public Layer {
 public:
  using Layer::Layer;
  Value call(Value x, bool training) final;
  Outputs call_with(const std::vector<Value>& inputs, bool training) final;

 protected:
  /// Merges two inputs.
  virtual Value merge(Value a, Value b) const = 0;
  Value mask_of(const std::vector<Value>& inputs, Value y) const final;
};

/// The sum of its inputs. Source: keras/src/layers/merging/add.py.
class Add : public MergeLayer {
 public:
  using Options = MergeOptions;
  static constexpr ClassText about{"Add", "Adds its inputs, which broadcast: several of [batch, ..] -> [batch, ..]."};
  explicit Add(MergeOptions options = {}) : MergeLayer(class_entry<Add>, std::move(options)) {}

 protected:
  Value merge(Value a, Value b) const override;
};

struct ConcatenateOptions {
  std::ptrdiff_t axis = -1;
  std::string name = {};
  std::string dtype = {};
  static constexpr auto fields() {
    return option_rows(option<&ConcatenateOptions::axis>("Axis along which inputs are concatenated."),
                       layer_fields<ConcatenateOptions>());
  }
};

/// Concatenates its inputs along an axis, the only one in which shapes may differ. If one input has a mask, the result
/// has one: all entries of inputs without a mask count. Throws Error(value) for a call without a list, Error(shape) for
/// shapes that differ elsewhere. Source: keras/src/layers/merging/concatenate.py.
class Concatenate : public Layer {
 public:
  using Options = ConcatenateOptions;
  static constexpr ClassText about{"Concatenate",
                                   "Concatenates its inputs along an axis: several of [batch, ..] -> [batch, ..]."};
  explicit Concatenate(ConcatenateOptions options = {});
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;

 protected:
  Value mask_of(const std::vector<Value>& inputs, Value y) const override;

 private:
  const ConcatenateOptions& options_;
};

namespace layers {
inline constexpr Factory<Add> add;
inline constexpr Factory<Concatenate> concatenate;
}  // namespace layers

}  // namespace etude
