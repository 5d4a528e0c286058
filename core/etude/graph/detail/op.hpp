#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "etude/base/dtype.hpp"
#include "etude/base/shape.hpp"
#include "etude/base/tensor.hpp"
#include "etude/graph/detail/elementwise.hpp"
#include "etude/graph/variable.hpp"
#include "etude/graph/window.hpp"

/// The ops. Each op is a small struct with its properties, its shape rule and its gradient (graph/detail/rules.hpp);
/// without one of them a program does not build. Elementwise ops are in graph/detail/elementwise.hpp. Their operands
/// have equal shapes, since the functions in ops/ insert Broadcast.
namespace etude {
struct Loop;
class Value;
struct Meta;
struct Differential;
/// The operands of a node.
using Operands = std::span<const Value>;
/// The gradient for each operand, built from ops. An empty Value means no gradient, and missing entries at the end too.
using OperandGradients = std::vector<Value>;
}  // namespace etude

namespace etude::op {

/// How a plan computes an op.
enum class Role : std::uint8_t {
  leaf,        ///< Its data exists when the step begins.
  number,      ///< The same number in every element, computed by its readers.
  view,        ///< A view of its operand.
  window,      ///< Elements of its operand, read through strides.
  step,        ///< A step of an elementwise program.
  kernel,      ///< An instruction of its own (execution/lowering.cpp). Along short rows some are steps of a program.
  loop,        ///< A body of instructions, run once per step.
  all_reduce,  ///< An all-reduce of all devices; a view if there is one replica.
};

/// How an op computes operands of half precision.
enum class Halves : std::uint8_t {
  upcast,      ///< In float32; the result is rounded.
  kept,        ///< Unchanged: it only moves elements.
  multiplied,  ///< Unchanged if the device multiplies half precision, else upcast.
};

/// The properties of an op for tracing and compiling, besides its rules. Every op has them; those of elementwise ops
/// are FunctionTraits.
struct Traits {
  Role role;
  Halves halves = Halves::upcast;
  bool differentiable = true;  ///< False if it has no gradient: leaves, draws, integers.
};

/// Tensor `index` of the batch.
struct Input {
  static constexpr Traits traits{.role = Role::leaf, .differentiable = false};
  Meta infer(Operands) const;
  int index;
  Shape shape;
  DType dtype;
  friend bool operator==(const Input&, const Input&) = default;
};
/// A tensor filled with one number.
struct Constant {
  static constexpr Traits traits{.role = Role::number, .differentiable = false};
  Meta infer(Operands) const;
  double value;
  Shape shape;
  DType dtype;
  /// By the number's bits: NaN equals itself, and -0 is not 0.
  friend bool operator==(const Constant& a, const Constant& b) {
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value) && a.shape == b.shape &&
           a.dtype == b.dtype;
  }
};
/// A variable's value at the beginning of the step.
struct Read {
  static constexpr Traits traits{.role = Role::leaf, .differentiable = false};
  Meta infer(Operands) const;
  Variable variable;
  friend bool operator==(const Read&, const Read&) = default;
};

/// x in another dtype.
struct Cast {
  static constexpr Traits traits{.role = Role::step, .halves = Halves::kept};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  DType dtype;
  friend bool operator==(const Cast&, const Cast&) = default;
};
/// x unchanged; it stops gradients.
struct StopGradient {
  static constexpr Traits traits{.role = Role::view, .halves = Halves::kept, .differentiable = false};
  Meta infer(Operands) const;
  friend bool operator==(const StopGradient&, const StopGradient&) = default;
};

/// x [..] repeated to `shape` by NumPy's rule.
struct Broadcast {
  static constexpr Traits traits{.role = Role::window, .halves = Halves::kept};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  Shape shape;
  friend bool operator==(const Broadcast&, const Broadcast&) = default;
};
/// The same elements in another shape.
struct Reshape {
  static constexpr Traits traits{.role = Role::view, .halves = Halves::kept};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  Shape shape;
  friend bool operator==(const Reshape&, const Reshape&) = default;
};
/// Axis i of the result is axis `order[i]` of x.
struct Transpose {
  static constexpr Traits traits{.role = Role::kernel, .halves = Halves::kept};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::array<std::uint8_t, Shape::max_rank> order;
  friend bool operator==(const Transpose&, const Transpose&) = default;
};

/// Entries [first, first + count) of one axis.
struct Slice {
  static constexpr Traits traits{.role = Role::window, .halves = Halves::kept};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::uint8_t axis;
  std::int64_t first, count;
  friend bool operator==(const Slice&, const Slice&) = default;
};
/// The entries of one axis from the last to the first.
struct Reverse {
  static constexpr Traits traits{.role = Role::window, .halves = Halves::kept};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::uint8_t axis;
  friend bool operator==(const Reverse&, const Reverse&) = default;
};
/// Concatenates one or more operands along an axis.
struct Concatenate {
  static constexpr Traits traits{.role = Role::kernel, .halves = Halves::kept};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::uint8_t axis;
  friend bool operator==(const Concatenate&, const Concatenate&) = default;
};

/// Sum over axes [first, first + count), which are removed.
struct Sum {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::uint8_t first, count;
  friend bool operator==(const Sum&, const Sum&) = default;
};
/// The sums along an axis of its entries up to each one; `exclusive`: without that one; `reverse`: from the last entry
/// back.
struct Cumsum {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::uint8_t axis;
  bool exclusive, reverse;
  friend bool operator==(const Cumsum&, const Cumsum&) = default;
};
/// Maximum over axes [first, first + count), which are removed.
struct Max {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::uint8_t first, count;
  friend bool operator==(const Max&, const Max&) = default;
};
/// int32 index of the largest element along the last axis, which is removed; the lowest index of equals (M-3).
struct ArgMax {
  static constexpr Traits traits{.role = Role::kernel, .differentiable = false};
  Meta infer(Operands) const;
  friend bool operator==(const ArgMax&, const ArgMax&) = default;
};
/// int32 indices that sort the last axis; equal elements keep their order, and NaN counts as the largest number.
struct ArgSort {
  static constexpr Traits traits{.role = Role::kernel, .differentiable = false};
  Meta infer(Operands) const;
  bool descending;
  friend bool operator==(const ArgSort&, const ArgSort&) = default;
};
/// int32 labels [..] to [.., depth]: 1 at the label, else 0; all 0 if the label is out of range.
struct OneHot {
  static constexpr Traits traits{.role = Role::kernel, .differentiable = false};
  Meta infer(Operands) const;
  std::int64_t depth;
  DType dtype;
  friend bool operator==(const OneHot&, const OneHot&) = default;
};

/// table [n, ..], int32 indices [*shape] -> the rows at these indices, [*shape, ..]. An index out of range gives NaN,
/// or 0 for integers.
struct Gather {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  friend bool operator==(const Gather&, const Gather&) = default;
};
/// Gather's transpose: x [*shape, ..], int32 indices [*shape] -> [rows, ..]. Row i is the sum of the rows of x with
/// index i.
struct ScatterAdd {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::int64_t rows;
  friend bool operator==(const ScatterAdd&, const ScatterAdd&) = default;
};

/// a [.., m, k] · b [.., k, n] for every index of the leading axes, which are equal; a is stored [.., k, m] if
/// transpose_a, b [.., n, k] if transpose_b.
struct MatMul {
  static constexpr Traits traits{.role = Role::kernel, .halves = Halves::multiplied};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  bool transpose_a, transpose_b;
  friend bool operator==(const MatMul&, const MatMul&) = default;
};

/// x [batch, height, width, channels] ⋆ kernel [window height, window width, channels / groups, filters]: at each
/// position of the window the sum of its cells times the kernel (not flipped, A-7). Channels and filters are divided
/// into equal groups, which are independent. Padding counts as 0.
struct Convolution {
  static constexpr Traits traits{.role = Role::kernel, .halves = Halves::multiplied};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  Window window;
  friend bool operator==(const Convolution&, const Convolution&) = default;
};
/// The transpose of Convolution in x: dy, kernel -> dx of `shape`.
struct ConvolutionInput {
  static constexpr Traits traits{.role = Role::kernel, .halves = Halves::multiplied};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  Window window;
  Shape shape;
  friend bool operator==(const ConvolutionInput&, const ConvolutionInput&) = default;
};
/// The transpose of Convolution in the kernel: x, dy -> dkernel of `shape`.
struct ConvolutionFilter {
  static constexpr Traits traits{.role = Role::kernel, .halves = Halves::multiplied};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  Window window;
  Shape shape;
  friend bool operator==(const ConvolutionFilter&, const ConvolutionFilter&) = default;
};

/// The cell of the window, counted row by row, with the maximum of x [batch, height, width, channels]: the first of
/// equals; NaN is larger than any number, padding less. uint8 for windows of at most 256 cells, else int32.
struct PoolArgMax {
  static constexpr Traits traits{.role = Role::kernel, .differentiable = false};
  Meta infer(Operands) const;
  Window window;
  friend bool operator==(const PoolArgMax&, const PoolArgMax&) = default;
};
/// x, index -> the element of x at the indexed cell; 0 if the cell is not in x.
struct PoolGather {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  Window window;
  friend bool operator==(const PoolGather&, const PoolGather&) = default;
};
/// The transpose of PoolGather: dy, index -> dx of `shape`. Each cell gets the sum of the elements of dy whose index is
/// that cell.
struct PoolScatter {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  Window window;
  Shape shape;
  friend bool operator==(const PoolScatter&, const PoolScatter&) = default;
};

/// Softmax over the last axis.
struct Softmax {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  friend bool operator==(const Softmax&, const Softmax&) = default;
};
/// logits [.., k], targets [.., k] -> [..]: -sum(targets · log softmax(logits)), in one pass.
struct SoftmaxCrossentropy {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  friend bool operator==(const SoftmaxCrossentropy&, const SoftmaxCrossentropy&) = default;
};
/// logits [.., k], int32 labels [..] -> [..]: -log softmax(logits)[label]; NaN if the label is out of range.
struct SparseSoftmaxCrossentropy {
  static constexpr Traits traits{.role = Role::kernel};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  friend bool operator==(const SparseSoftmaxCrossentropy&, const SparseSoftmaxCrossentropy&) = default;
};

/// Uniform in [0, 1): Philox of (seed, stream, the operand, an int32 counter, the element's index). Indices begin at
/// `first`, plus, for a replica's shard of a batch, the elements before its first row, with `row_size` elements per
/// row.
struct Uniform {
  static constexpr Traits traits{.role = Role::kernel, .differentiable = false};
  Meta infer(Operands) const;
  std::uint64_t seed;
  std::uint32_t stream;
  Shape shape;
  DType dtype;
  std::int64_t first = 0, row_size = 0;
  friend bool operator==(const Uniform&, const Uniform&) = default;
};

/// One result of a loop over time. Operands: the initial carried Values, sequences [steps, ..], constants. The result
/// is the value of a body node at every step, stacked along a new first axis; or, if `last`, the final carried Value,
/// identified by its next node.
struct Scan {
  static constexpr Traits traits{.role = Role::loop, .halves = Halves::kept};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  std::shared_ptr<const Loop> loop;
  std::int32_t node;
  bool last;
  friend bool operator==(const Scan&, const Scan&) = default;
};

/// The sum of x over all replicas; x itself if there is one replica.
struct AllReduce {
  static constexpr Traits traits{.role = Role::all_reduce};
  Meta infer(Operands) const;
  OperandGradients gradient(const Differential&) const;
  friend bool operator==(const AllReduce&, const AllReduce&) = default;
};

}  // namespace etude::op

namespace etude {

namespace detail {
template <class Functions, class... Others> struct JoinVariant;
template <class... Functions, class... Others> struct JoinVariant<std::tuple<Functions...>, Others...> {
  using type = std::variant<Others..., Functions...>;
};
}  // namespace detail

/// All ops. gradient_test and parity_test iterate over them: a new op fails them until it has a case.
using OpVariant =
    detail::JoinVariant<op::Elementwise, op::Input, op::Constant, op::Read, op::Cast, op::StopGradient, op::Broadcast,
                        op::Reshape, op::Transpose, op::Slice, op::Reverse, op::Concatenate, op::Sum, op::Cumsum,
                        op::Max, op::ArgMax, op::ArgSort, op::OneHot, op::Gather, op::ScatterAdd, op::MatMul,
                        op::Convolution, op::ConvolutionInput, op::ConvolutionFilter, op::PoolArgMax, op::PoolGather,
                        op::PoolScatter, op::Softmax, op::SoftmaxCrossentropy, op::SparseSoftmaxCrossentropy,
                        op::Uniform, op::Scan, op::AllReduce>::type;

/// Any op: a class, so that public headers can name it without the structs of all ops.
class Op : public OpVariant {
 public:
  using OpVariant::OpVariant;
};

namespace detail {
template <class Struct> constexpr std::string_view find_name() {
  // GCC: "… [with Struct = etude::op::Exp; …]", Clang: "… [Struct = etude::op::Exp]".
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("Struct = "));
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}
/// Stores only the name in the program, without the text around it.
template <class Struct>
inline constexpr auto name_text = [] {
  std::array<char, find_name<Struct>().size()> text{};
  std::ranges::copy(find_name<Struct>(), text.begin());
  return text;
}();
}  // namespace detail

/// A struct's own name without its namespaces: "MatMul", "Exp".
template <class Struct> constexpr std::string_view struct_name() {
  return {detail::name_text<Struct>.data(), detail::name_text<Struct>.size()};
}
std::string_view name_of(const Op& op);

template <class O> inline constexpr bool is_elementwise = op::ElementwiseOp<O>;

/// The traits of any op.
template <class O> constexpr op::Traits traits_of() {
  if constexpr (is_elementwise<O>)
    return {.role = op::Role::step, .differentiable = O::traits.differentiable && !O::traits.condition};
  else
    return O::traits;
}
op::Traits traits_of(const Op& op);

}  // namespace etude
