#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "etude/base/dtype.hpp"
#include "etude/base/shape.hpp"
#include "etude/graph/elementwise.hpp"
#include "etude/graph/window.hpp"

/// The instructions to which fusion lowers ops: a second closed variant. Each Device implements one `run` per
/// alternative. Instructions are plain data: shapes are checked, and memory is placed.
namespace etude {

/// A place in a plan's memory: `offset` bytes after the address of `space`. The plan has a table of addresses, one per
/// space: the arena, each input of the batch, each storage of variables.
struct Operand {
  std::int32_t space = -1;
  std::int64_t offset = 0;
  DType dtype = DType::float32;
  friend bool operator==(const Operand&, const Operand&) = default;
};

namespace instruction {

struct Body;

/// The type of a program's registers. uint8, bool and half precision are loaded into float lanes, where they are exact.
enum class Lane : std::uint8_t { float32, float64, int32 };

constexpr Lane lane_of(DType dtype) {
  return dtype == DType::float64 ? Lane::float64 : dtype == DType::int32 ? Lane::int32 : Lane::float32;
}

/// The operation of a program's step: an elementwise function (its index in op::Elementwise), or one of the
/// conversions, which round towards zero. A number out of int32's range becomes its lowest number; a number out of a
/// byte's range, the nearest.
using Opcode = std::uint8_t;
inline constexpr Opcode elementwise_count = std::tuple_size_v<op::Elementwise>;
inline constexpr Opcode convert_code = elementwise_count;       ///< from `lane` to `to`
inline constexpr Opcode truth_code = elementwise_count + 1;     ///< 1 where x is not 0, in float lanes
inline constexpr Opcode byte_code = elementwise_count + 2;      ///< float lanes to whole numbers 0 … 255, NaN to 0
inline constexpr Opcode float16_code = elementwise_count + 3;   ///< float lanes to the nearest float16, in float lanes
inline constexpr Opcode bfloat16_code = elementwise_count + 4;  ///< likewise
inline constexpr Opcode opcode_count = elementwise_count + 5;
/// Steps on rows: the sum and the maximum of each row, and a number per row that is repeated along it.
inline constexpr Opcode sum_code = opcode_count;
inline constexpr Opcode max_code = opcode_count + 1;
inline constexpr Opcode spread_code = opcode_count + 2;

/// The code of an elementwise function.
template <class F, std::size_t I = 0> constexpr Opcode opcode_of() {
  if constexpr (std::is_same_v<std::tuple_element_t<I, op::Elementwise>, F>)
    return static_cast<Opcode>(I);
  else
    return opcode_of<F, I + 1>();
}

/// The longest row that a program can hold in a register.
inline constexpr std::int64_t longest_row = 512;

/// A sequence of elementwise steps on registers. A register holds a tile of elements. The order of registers is:
/// inputs, immediates (one number in every element), temporaries. If `row` is set, the domain is rows of that many
/// elements, a tile is some whole rows, and a register may hold one number per row instead.
struct Program {
  struct Step {
    Opcode code;
    Lane lane;  ///< of the operands
    Lane to;    ///< of the result
    std::uint16_t result, a, b, c;
    bool per_row = false;  ///< The result is one number per row.
    /// The output that this step may write to directly, or -1. It is set if no later step reads the memory there.
    std::int16_t direct = -1;
    friend bool operator==(const Step&, const Step&) = default;
  };
  struct Input {
    Lane lane;
    bool per_row = false;
    friend bool operator==(const Input&, const Input&) = default;
  };
  struct Output {
    std::uint16_t reg;  ///< the register to store
    bool per_row = false;
    friend bool operator==(const Output&, const Output&) = default;
  };
  std::int64_t row = 0;
  std::vector<Input> inputs;
  struct Immediate {
    double value;
    Lane lane;
    friend bool operator==(const Immediate&, const Immediate&) = default;
  };
  std::vector<Immediate> immediates;
  std::vector<Step> steps;
  std::vector<Output> outputs;
  std::uint16_t registers = 0;
  friend bool operator==(const Program&, const Program&) = default;
};

/// The access of a program to an operand. Element i of the domain, unravelled over `extents`, lies at the sum of index
/// · stride.
struct Access {
  enum class Kind : std::uint8_t { contiguous, scalar, strided };
  Operand operand;
  Kind kind = Kind::contiguous;
  Shape extents = {}, strides = {};
};

/// A range of memory that a program runs over.
struct Segment {
  std::int64_t size = 0;
  std::vector<Access> inputs;
  std::vector<Access> outputs;
};

/// A device's own data for an instruction, made before the first run (Device::prepare).
struct Prepared {
  virtual ~Prepared() = default;
};

struct Elementwise {
  Program program;
  std::vector<Segment> segments;
  std::shared_ptr<const Prepared> prepared = {};
};

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
};
/// dx from dy and the kernel. With pooling, dy and index are those of the pooled result.
struct ConvolutionInput {
  ConvolutionShape shape;
  std::optional<Pooling> pooling;
  Operand dy, index, kernel, out, workspace;
  std::size_t workspace_bytes;
  std::optional<Elementwise> epilogue;
};
/// dkernel from x and dy. With pooling, dy and index are those of the pooled result.
struct ConvolutionFilter {
  ConvolutionShape shape;
  std::optional<Pooling> pooling;
  Operand x, dy, index, out, workspace;
  std::size_t workspace_bytes;
  std::optional<Elementwise> epilogue;
};

/// The maximum of each window of `in`, and its cell in the window. One of both may be unused (space -1).
struct MaxPool {
  Pooling pooling;
  Operand in, out, index;
};
/// in, index -> out: the elements at the indexed cells.
struct PoolGather {
  Pooling pooling;
  Operand in, index, out;
};
/// in [.., rows, columns, ..], index -> out [.., height, width, ..]: each cell gets the sum of the elements whose index
/// is that cell.
struct PoolScatter {
  Pooling pooling;
  Operand in, index, out;
};

/// in [outer, count, inner] -> out [outer, inner], in an order that does not depend on the number of threads.
struct Reduce {
  enum class Kind : std::uint8_t { sum, max } kind;
  std::int64_t outer, count, inner;
  Operand in, out, workspace;
};

/// in [rows, count] -> out int32 [rows].
struct ArgMax {
  std::int64_t rows, count;
  Operand in, out, workspace = {};
};
/// labels int32 [rows] -> out [rows, depth].
struct OneHot {
  std::int64_t rows, depth;
  Operand labels, out;
};
/// Rows of `width` elements from a table [rows, width]: out [count, width]. The first index is number *first of
/// `indices`, an int32; or number 0 if `first` is unused (space -1).
struct Gather {
  std::int64_t count, width, rows;
  Operand table, indices, out, first = {};
};
/// in [count, width], added to the rows of out [rows, width], in order.
struct ScatterAdd {
  std::int64_t count, width, rows;
  Operand in, indices, out, workspace = {};
};
/// Softmax of each row of in [rows, count].
struct Softmax {
  std::int64_t rows, count;
  Operand in, out, workspace = {};
};
/// logits [rows, count], targets [rows, count] or int32 labels [rows] -> losses [rows].
struct Crossentropy {
  std::int64_t rows, count;
  bool sparse;
  Operand logits, targets, losses, workspace = {};
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
};
/// The gradients of Attention, from its operands, `out`, `statistics`, and the derivative d_out of the target with
/// respect to `out`. Results that are not needed are unused (space -1).
struct AttentionGradient {
  AttentionShape attention;
  StridedOperand query, key, value, mask, out, d_out, d_query, d_key, d_value;
  Operand statistics, workspace = {};
};
/// out, contiguous with `extents`, from in with `strides` (elements).
struct Transpose {
  Shape extents, strides;
  Operand in, out;
};
/// out [count]: draws in [0, 1) of (seed, stream, *counter, first + index).
struct Uniform {
  std::uint64_t seed;
  std::uint32_t stream;
  std::int64_t count;
  Operand counter, out;
  std::int64_t first = 0;
};
struct Copy {
  std::int64_t bytes;
  Operand in, out;
};

/// An all-reduce: each replica gets at `out` the sum of all replicas' Values at `in`. It runs between two instructions,
/// when all plans have reached it (distribute/replicated_plan.hpp). It sums one Value or more at the same time; `in`
/// and `out` may be the same.
struct AllReduce {
  struct Part {
    std::int64_t count;
    Operand in, out;
  };
  std::vector<Part> parts;
  /// If not -1, the all-reduce only starts here, and the AwaitSums of this number ends it. Instructions between both
  /// leave its operands alone.
  int number = -1;
};

/// Waits for the sums of the all-reduce of this number. It stands before the first instruction that reads one of them.
struct AwaitSums {
  int number;
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
};

}  // namespace instruction

using Instruction =
    std::variant<instruction::Elementwise, instruction::Gemm, instruction::Convolution, instruction::ConvolutionInput,
                 instruction::ConvolutionFilter, instruction::MaxPool, instruction::PoolGather,
                 instruction::PoolScatter, instruction::Reduce, instruction::ArgMax, instruction::OneHot,
                 instruction::Gather, instruction::ScatterAdd, instruction::Softmax, instruction::Crossentropy,
                 instruction::Attention, instruction::AttentionGradient, instruction::Transpose, instruction::Uniform,
                 instruction::Copy, instruction::AllReduce, instruction::AwaitSums, instruction::Scan>;

/// The instructions of a Scan, and its tables of addresses, one per arena, which it fills for each step.
struct instruction::Body {
  std::vector<Instruction> instructions;
  std::vector<std::byte*> addresses;
};

/// "Gemm", "Elementwise", …
std::string_view name_of(const Instruction& instruction);

}  // namespace etude
