#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "etude/base/dtype.hpp"
#include "etude/base/shape.hpp"
#include "etude/execution/operand.hpp"
#include "etude/execution/program.hpp"
#include "etude/graph/window.hpp"

/// The instructions that fusion lowers ops to: a second closed variant. Each device computes every alternative.
/// Instructions are plain data: shapes are proven, and memory is laid out. Each also says what memory it reads and
/// writes (`list_memory`), its floating-point operations (`operations`) and, unless explain.cpp prints more about it,
/// its extents (`sizes`). What takes more than a few lines is in cost.cpp.
namespace etude {

namespace instruction {

struct Body;

/// c [m, n] = op(a) [m, k] · op(b) [k, n] for every index of `batch`. Stored rows of a matrix are `distance` elements
/// apart; the matrices of a batch are `strides` apart, one stride per axis. The epilogue is a program over all elements
/// of c, which are then contiguous. It runs on each block of rows when the block is complete.
struct Gemm {
  struct Matrix {
    Operand operand;
    std::int64_t distance;
    bool transposed;
    Shape strides;
  };
  std::int64_t m, n, k;
  Shape batch;
  Matrix a, b, c;
  Operand workspace;
  std::size_t workspace_bytes = 0;  ///< as the Device requested when the plan was made
  std::optional<Elementwise> epilogue;
  std::shared_ptr<const Prepared> prepared = {};

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};

/// A window that reduces [batch, height, width, channels] to [batch, rows, columns, channels].
struct Pooling {
  Window window;
  std::int64_t batch, height, width, channels;
  std::int64_t rows, columns;
  friend bool operator==(const Pooling&, const Pooling&) = default;
};

/// The shapes of a convolution: x [batch, height, width, channels], kernel [*window.extent, channels / groups,
/// filters], y [batch, rows, columns, filters].
struct ConvolutionShape {
  Window window;
  std::int64_t batch, height, width, channels;
  std::int64_t rows, columns, filters, groups;
  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// y = x ⋆ kernel. With pooling y is not written: the maximum of each window is written to `out`, and its cell in the
/// window to `index`, unless the index is not needed (space -1). The epilogue runs over out's elements, on rows that
/// are complete.
struct Convolution {
  ConvolutionShape shape;
  std::optional<Pooling> pooling;
  Operand x, kernel, out, index, workspace;
  std::size_t workspace_bytes;
  std::optional<Elementwise> epilogue;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};
/// dx from dy and the kernel. With pooling, dy and index are those of the pooled result.
struct ConvolutionInput {
  ConvolutionShape shape;
  std::optional<Pooling> pooling;
  Operand dy, index, kernel, out, workspace;
  std::size_t workspace_bytes;
  std::optional<Elementwise> epilogue;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};
/// dkernel from x and dy. With pooling, dy and index are those of the pooled result.
struct ConvolutionFilter {
  ConvolutionShape shape;
  std::optional<Pooling> pooling;
  Operand x, dy, index, out, workspace;
  std::size_t workspace_bytes;
  std::optional<Elementwise> epilogue;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};

/// The maximum of each window of `in`, and its cell in the window. One of both may be unused (space -1).
struct MaxPool {
  Pooling pooling;
  Operand in, out, index;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};
/// in, index -> out: the elements at the indexed cells.
struct PoolGather {
  Pooling pooling;
  Operand in, index, out;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};
/// in [.., rows, columns, ..], index -> out [.., height, width, ..]: each cell gets the sum of the elements whose index
/// is that cell.
struct PoolScatter {
  Pooling pooling;
  Operand in, index, out;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};

/// in [outer, count, inner] -> out [outer, inner], in an order that does not depend on the number of threads.
struct Reduce {
  enum class Kind : std::uint8_t { sum, max } kind;
  std::int64_t outer, count, inner;
  Operand in, out, workspace;

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(in, outer * count * inner);
    ranges.written(out, outer * inner);
  }
  double operations() const { return static_cast<double>(outer * count * inner); }
  Shape sizes() const { return {outer, count, inner}; }
};

/// in [outer, count, inner] -> out, the sums along the middle axis (op::Cumsum).
struct Cumsum {
  std::int64_t outer, count, inner;
  bool exclusive, reverse;
  Operand in, out;

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(in, outer * count * inner);
    ranges.written(out, outer * count * inner);
  }
  double operations() const { return static_cast<double>(outer * count * inner); }
  Shape sizes() const { return {outer, count, inner}; }
};

/// in [rows, count] -> out int32 [rows].
struct ArgMax {
  std::int64_t rows, count;
  Operand in, out, workspace = {};

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(in, rows * count);
    ranges.written(out, rows);
  }
  double operations() const { return static_cast<double>(rows * count); }
  Shape sizes() const { return {rows, count}; }
};
/// in [rows, count] -> out int32 [rows, count], the order of each row (op::ArgSort).
struct ArgSort {
  std::int64_t rows, count;
  bool descending;
  Operand in, out;

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(in, rows * count);
    ranges.written(out, rows * count);
  }
  double operations() const { return 0; }
  Shape sizes() const { return {rows, count}; }
};
/// labels int32 [rows] -> out [rows, depth].
struct OneHot {
  std::int64_t rows, depth;
  Operand labels, out;

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(labels, rows);
    ranges.written(out, rows * depth);
  }
  double operations() const { return 0; }
  Shape sizes() const { return {rows, depth}; }
};
/// Rows of `width` elements from a table [rows, width]: out [count, width]. The first index is number *first of
/// `indices`, an int32; or number 0 if `first` is unused (space -1).
struct Gather {
  std::int64_t count, width, rows;
  Operand table, indices, out, first = {};

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(indices, count);
    ranges.read(table, std::min(count, rows) * width);
    ranges.written(out, count * width);
  }
  double operations() const { return 0; }
  Shape sizes() const { return {rows, count}; }
};
/// in [count, width], added to the rows of out [rows, width], in order.
struct ScatterAdd {
  std::int64_t count, width, rows;
  Operand in, indices, out, workspace = {};

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(indices, count);
    ranges.read(in, count * width);
    ranges.read(out, std::min(count, rows) * width);
    ranges.written(out, rows * width);
  }
  double operations() const { return static_cast<double>(count * width); }
  Shape sizes() const { return {rows, count}; }
};
/// Softmax of each row of in [rows, count].
struct Softmax {
  std::int64_t rows, count;
  Operand in, out, workspace = {};

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(in, rows * count);
    ranges.written(out, rows * count);
  }
  /// Per element: the maximum, the difference, the exponential, the sum, the quotient.
  double operations() const { return 5 * static_cast<double>(rows * count); }
  Shape sizes() const { return {rows, count}; }
};
/// logits [rows, count], targets [rows, count] or int32 labels [rows] -> losses [rows].
struct Crossentropy {
  std::int64_t rows, count;
  bool sparse;
  Operand logits, targets, losses, workspace = {};

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(logits, rows * count);
    ranges.read(targets, sparse ? rows : rows * count);
    ranges.written(losses, rows);
  }
  double operations() const { return 4 * static_cast<double>(rows * count); }
  Shape sizes() const { return {rows, count}; }
};

/// The sizes of attention: for each index of `batch` a query [queries, depth], a key [keys, depth] and a value [keys,
/// width], all stored as `dtype`. Half precision is computed in float32.
struct AttentionShape {
  Shape batch;
  std::int64_t queries, keys, depth, width;
  DType dtype;
  double scale = 1;  ///< of the scores
  bool is_masked = false;
  double absent = 0;  ///< added to scores whose entry in the mask is false
};
/// An operand with strides in elements: of each axis of a batch, of rows and of columns.
struct StridedOperand {
  Operand operand = {};
  Shape strides = {};
};
/// out = softmax(scale · query · keyᵀ + absent where the mask is false) · value; the scores are not stored. The mask is
/// boolean [*batch, queries, keys]. `statistics`, unless unused (space -1), are two float32 for each row of scores: the
/// maximum, and the reciprocal of the sum of exp(score - maximum).
struct Attention {
  AttentionShape attention;
  StridedOperand query, key, value, mask, out;
  Operand statistics;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};
/// The gradients of Attention, from its operands, `out`, `statistics`, and the derivative d_out of the target with
/// respect to `out`. Results that are not needed are unused (space -1).
struct AttentionGradient {
  AttentionShape attention;
  StridedOperand query, key, value, mask, out, d_out, d_query, d_key, d_value;
  Operand statistics, workspace = {};

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};
/// out, contiguous with `extents`, from in with `strides` (elements).
struct Transpose {
  Shape extents, strides;
  Operand in, out;

  void list_memory(MemoryRanges& ranges) const {
    ranges.read(in, extents.size());
    ranges.written(out, extents.size());
  }
  double operations() const { return 0; }
};
/// out [count]: draws in [0, 1) of (seed, stream, *counter, first + index).
struct Uniform {
  std::uint64_t seed;
  std::uint32_t stream;
  std::int64_t count;
  Operand counter, out;
  std::int64_t first = 0;

  void list_memory(MemoryRanges& ranges) const { ranges.written(out, count); }
  double operations() const { return 0; }
  Shape sizes() const { return {count}; }
};
struct Copy {
  std::int64_t bytes;
  Operand in, out;

  void list_memory(MemoryRanges& ranges) const {
    ranges.add({in.space, in.offset, bytes, false});
    ranges.add({out.space, out.offset, bytes, true});
  }
  double operations() const { return 0; }
};

/// An all-reduce: each replica gets at `out` the sum of all replicas' Values at `in`. It runs between two instructions,
/// when all plans have reached it (distribute/detail/replicated_plan.hpp). It sums one Value or more at the same time;
/// `in` and `out` may be the same.
struct AllReduce {
  struct Part {
    std::int64_t count;
    Operand in, out;
  };
  std::vector<Part> parts;
  /// If not -1, the all-reduce only starts here, and the AwaitSums of this number ends it. Instructions between both
  /// leave its operands alone.
  int number = -1;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};

/// Waits for the sums of the all-reduce of this number. It stands before the first instruction that reads one of them.
struct AwaitSums {
  int number;

  void list_memory(MemoryRanges&) const {}
  double operations() const { return 0; }
};

/// A loop over time: runs `body` for each step, on its own table of addresses. The spaces of the body are, in this
/// order, its arena, its inputs and its outputs.
struct Scan {
  /// The address of a space in each step: entry number step + shift of the operand's row, which has one entry per step,
  /// or two that alternate. Entries are `stride` bytes apart; 0 if all steps share the space.
  struct Space {
    Operand operand;
    std::int64_t stride = 0, shift = 0;
    bool turns = false;
  };
  std::int64_t steps;
  bool reverse;
  std::shared_ptr<Body> body;
  std::vector<Space> spaces;
  /// The rows of the carried Values that may run through all steps independently, or 0; and the number of chunks that
  /// run at once. Each chunk has an arena of `arena_bytes`, one after the other, and a table of addresses.
  std::int64_t rows = 0;
  int arenas = 1;
  std::int64_t arena_bytes = 0;

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};

}  // namespace instruction

using Instruction =
    std::variant<instruction::Elementwise, instruction::Gemm, instruction::Convolution, instruction::ConvolutionInput,
                 instruction::ConvolutionFilter, instruction::MaxPool, instruction::PoolGather,
                 instruction::PoolScatter, instruction::Reduce, instruction::Cumsum, instruction::ArgMax,
                 instruction::ArgSort, instruction::OneHot, instruction::Gather, instruction::ScatterAdd,
                 instruction::Softmax, instruction::Crossentropy, instruction::Attention,
                 instruction::AttentionGradient, instruction::Transpose, instruction::Uniform, instruction::Copy,
                 instruction::AllReduce, instruction::AwaitSums, instruction::Scan>;

/// The instructions of a Scan, and its tables of addresses, one per arena, which it fills for each step.
struct instruction::Body {
  std::vector<Instruction> instructions;
  std::vector<std::byte*> addresses;
};

/// "Gemm", "Elementwise", …
std::string_view name_of(const Instruction& instruction);

}  // namespace etude
