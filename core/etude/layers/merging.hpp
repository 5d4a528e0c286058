#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct MergeOptions {
  std::string name = {};
  std::string dtype = {};
  static constexpr auto fields() { return option_rows(layer_fields<MergeOptions>()); }
};

/// What a layer that makes one Value of a list has in common: extents of 1 broadcast, inputs of lower rank get axes
/// behind the batch axis, and the result has a mask where all inputs have one: what counts in any of them. Throws
/// Error(value) when it is called on something else than a list, Error(shape) for other batch sizes or shapes that do
/// not broadcast. Source: keras/src/layers/merging/base_merge.py.
class MergeLayer : public Layer {
 public:
  using Layer::Layer;
  Value call(Value x, bool training) final;
  Outputs call_with(const std::vector<Value>& inputs, bool training) final;

 protected:
  /// Two inputs as one.
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

/// Its inputs one behind the other along an axis, in which alone their shapes may differ. A mask where one of them has
/// one: all entries of the others count. Throws Error(value) when it is called on something else than a list,
/// Error(shape) for shapes that differ elsewhere. Source: keras/src/layers/merging/concatenate.py.
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
