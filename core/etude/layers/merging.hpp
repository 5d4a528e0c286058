#pragma once

#include "etude/base/integers.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct MergeOptions {
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = MergeOptions> static constexpr auto fields() { return option_rows(layer_fields<O>()); }
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
  /// The result of `count` merged inputs.
  virtual Value merged(Value all, std::size_t count) const {
    static_cast<void>(count);
    return all;
  }
  /// Throws Error(value) if there cannot be that many inputs.
  virtual void check_count(std::size_t count) const { static_cast<void>(count); }
  Value mask_of(const std::vector<Value>& inputs, Value y) const final;
};

/// The sum of its inputs. Source: keras/src/layers/merging/add.py.
class Add : public MergeLayer {
 public:
  using Options = MergeOptions;
  static constexpr ClassText about{"Add", "Adds its inputs, which broadcast: several of [batch, ..] -> [batch, ..]."};
  explicit Add(MergeOptions options = {});

 protected:
  Value merge(Value a, Value b) const override;
};

/// The product of its inputs, without masked entries; 0 where all are masked. Source:
/// keras/src/layers/merging/multiply.py.
class Multiply : public MergeLayer {
 public:
  using Options = MergeOptions;
  static constexpr ClassText about{"Multiply",
                                   "Multiplies its inputs, which broadcast: several of [batch, ..] -> [batch, ..]."};
  explicit Multiply(MergeOptions options = {});

 protected:
  Value merge(Value a, Value b) const override;
};

/// The mean of its inputs. Source: keras/src/layers/merging/average.py.
class Average : public MergeLayer {
 public:
  using Options = MergeOptions;
  static constexpr ClassText about{"Average",
                                   "Averages its inputs, which broadcast: several of [batch, ..] -> [batch, ..]."};
  explicit Average(MergeOptions options = {});

 protected:
  Value merge(Value a, Value b) const override;
  Value merged(Value all, std::size_t count) const override;
};

/// The largest of its inputs, element by element, without masked entries. Source: keras/src/layers/merging/maximum.py.
class Maximum : public MergeLayer {
 public:
  using Options = MergeOptions;
  static constexpr ClassText about{"Maximum",
                                   "Maximum of its inputs, which broadcast: several of [batch, ..] -> [batch, ..]."};
  explicit Maximum(MergeOptions options = {});

 protected:
  Value merge(Value a, Value b) const override;
};

/// The smallest of its inputs, element by element, without masked entries. Source:
/// keras/src/layers/merging/minimum.py.
class Minimum : public MergeLayer {
 public:
  using Options = MergeOptions;
  static constexpr ClassText about{"Minimum",
                                   "Minimum of its inputs, which broadcast: several of [batch, ..] -> [batch, ..]."};
  explicit Minimum(MergeOptions options = {});

 protected:
  Value merge(Value a, Value b) const override;
};

/// The first input minus the second. Throws Error(value) for another number of inputs. Source:
/// keras/src/layers/merging/subtract.py.
class Subtract : public MergeLayer {
 public:
  using Options = MergeOptions;
  static constexpr ClassText about{"Subtract",
                                   "Subtracts the second input from the first: two of [batch, ..] -> "
                                   "[batch, ..]."};
  explicit Subtract(MergeOptions options = {});

 protected:
  Value merge(Value a, Value b) const override;
  void check_count(std::size_t count) const override;
};

struct ConcatenateOptions {
  std::ptrdiff_t axis = -1;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ConcatenateOptions> static constexpr auto fields() {
    return option_rows(option<&O::axis>("Axis along which inputs are concatenated."), layer_fields<O>());
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

struct DotOptions {
  Integers axes = {};
  bool normalize = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = DotOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::axes>("Axis of both inputs that is summed over, or one for each input.", Need::required),
        option<&O::normalize>("Whether inputs are divided by their length along the axis: the cosine of their angle."),
        layer_fields<O>());
  }
};

/// The products of two inputs, summed along an axis of each: [batch, *a, n] and [batch, *b, n] -> [batch, *a, *b], or
/// [batch, 1] if neither has other axes. It has no mask. Throws Error(value) unless it is called on two inputs and has
/// one axis or two, Error(shape) for the batch axis and for axes of different extents. Source:
/// keras/src/layers/merging/dot.py.
class Dot : public Layer {
 public:
  using Options = DotOptions;
  static constexpr ClassText about{
      .name = "Dot",
      .text = "Sums the products of two inputs along an axis of each: two of [batch, .., n] -> [batch, ..].",
      .example = R"({"axes": 1})"};
  explicit Dot(const DotOptions& options);
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;

 protected:
  Value mask_of(const std::vector<Value>&, Value) const override { return {}; }

 private:
  DotOptions options_;
};

namespace layers {
inline constexpr Factory<Add> add;
inline constexpr Factory<Multiply> multiply;
inline constexpr Factory<Average> average;
inline constexpr Factory<Maximum> maximum;
inline constexpr Factory<Minimum> minimum;
inline constexpr Factory<Subtract> subtract;
inline constexpr Factory<Dot> dot;
inline constexpr Factory<Concatenate> concatenate;
}  // namespace layers

}  // namespace etude
