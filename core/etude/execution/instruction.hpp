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

/// THE MACHINE. What fusion lowers ops to: a second closed variant. Each Device implements one `run` per alternative.
/// Instructions are plain data: shapes are proven, memory is laid out, nothing is left to decide.
namespace etude {

/// Bytes in a plan's memory: `offset` behind the address of `space`. The plan has a table of addresses, one a space:
/// the arena, each input of the batch, each storage in which variables lie.
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

/// What a step of a program does: an elementwise function (its index in op::Elementwise), or one of the conversions,
/// which go towards zero. What int32 cannot hold becomes its lowest number, what a byte cannot hold its nearest.
using Opcode = std::uint8_t;
inline constexpr Opcode elementwise_count = std::tuple_size_v<op::Elementwise>;
inline constexpr Opcode convert_code = elementwise_count;       ///< from `lane` to `to`
inline constexpr Opcode truth_code = elementwise_count + 1;     ///< 1 where x is not 0, in float lanes
inline constexpr Opcode byte_code = elementwise_count + 2;      ///< float lanes to whole numbers 0 … 255, NaN to 0
inline constexpr Opcode float16_code = elementwise_count + 3;   ///< float lanes to the nearest float16, in float lanes
inline constexpr Opcode bfloat16_code = elementwise_count + 4;  ///< likewise
inline constexpr Opcode opcode_count = elementwise_count + 5;
/// Steps that look at rows: the sum and the largest of each, and a number a row repeated along it.
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

/// A straight line of elementwise steps on registers, each a tile of elements. Registers stand in this order: inputs,
/// immediates (one number in every element), then temporaries. Where `row` is set, the domain is rows of that many
/// elements, a tile is some whole rows, and a register may instead hold one number for each of them.
struct Program {
  struct Step {
    Opcode code;
    Lane lane;  ///< of the operands
    Lane to;    ///< of the result
    std::uint16_t result, a, b, c;
    bool per_row = false;  ///< Its result is one number a row.
    /// The output that this step may write to directly, or -1: set where nothing still needs what lies there.
    std::int16_t direct = -1;
    friend bool operator==(const Step&, const Step&) = default;
  };
  struct Input {
    Lane lane;
    bool per_row = false;
    friend bool operator==(const Input&, const Input&) = default;
  };
  struct Output {
    std::uint16_t reg;  ///< the register that it stores
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

/// How a program reads or writes an operand: element i of the domain, unravelled over `extents`, lies at the sum of
/// index · stride.
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

/// What a device made of an instruction before it runs (Device::prepare).
struct Prepared {
  virtual ~Prepared() = default;
};

struct Elementwise {
  Program program;
  std::vector<Segment> segments;
  std::shared_ptr<const Prepared> prepared = {};
};

/// c [m, n] = op(a) [m, k] · op(b) [k, n] for every index of `batch`. Stored rows of a matrix are `distance` elements
/// apart, the matrices of a batch `strides`, an axis each. The epilogue, a program over all elements of c, which then
/// lie one behind another, runs on each block of rows as it is done.
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
  std::size_t workspace_bytes = 0;  ///< as the Device wished when the plan was made
  std::optional<Elementwise> epilogue;
  std::shared_ptr<const Prepared> prepared = {};
};

/// A window over [batch, height, width, channels] that makes [batch, rows, columns, channels] of it.
struct Pooling {
  Window window;
  std::int64_t batch, height, width, channels;
  std::int64_t rows, columns;
  friend bool operator==(const Pooling&, const Pooling&) = default;
};

/// What a convolution is about: x [batch, height, width, channels], kernel [*window.extent, channels / groups,
/// filters], y [batch, rows, columns, filters].
struct ConvolutionShape {
  Window window;
  std::int64_t batch, height, width, channels;
  std::int64_t rows, columns, filters, groups;
  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// y = x ⋆ kernel. With pooling y is never written: the largest of each window goes to `out`, and which one it was to
/// `index`, unless it is not wanted (space -1). The epilogue runs over out's elements, on rows as they are done.
struct Convolution {
  ConvolutionShape shape;
  std::optional<Pooling> pooling;
  Operand x, kernel, out, index, workspace;
  std::size_t workspace_bytes;
  std::optional<Elementwise> epilogue;
};
/// dx from dy and the kernel. With pooling dy and index are those of the pooled result.
struct ConvolutionInput {
  ConvolutionShape shape;
  std::optional<Pooling> pooling;
  Operand dy, index, kernel, out, workspace;
  std::size_t workspace_bytes;
  std::optional<Elementwise> epilogue;
};
/// dkernel from x and dy, likewise.
struct ConvolutionFilter {
  ConvolutionShape shape;
  std::optional<Pooling> pooling;
  Operand x, dy, index, out, workspace;
  std::size_t workspace_bytes;
  std::optional<Elementwise> epilogue;
};

/// The largest of each window of `in`, and which cell it was; one of both may be unwanted (space -1).
struct MaxPool {
  Pooling pooling;
  Operand in, out, index;
};
/// in, index -> out: what the named cells hold.
struct PoolGather {
  Pooling pooling;
  Operand in, index, out;
};
/// in [.., rows, columns, ..], index -> out [.., height, width, ..]: each cell the sum of what named it.
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
/// Rows of `width` elements from a table [rows, width]: out [count, width]. The first of `indices` that counts is
/// number *first, an int32, or the first of all where there is none (space -1).
struct Gather {
  std::int64_t count, width, rows;
  Operand table, indices, out, first = {};
};
/// in [count, width], added up in out [rows, width], the first one first.
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
/// out, contiguous of `extents`, from in with `strides` (elements).
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

/// An all-reduce: at `out` each replica gets the sum of what all of them have at `in`. It runs between two
/// instructions, when all plans have come to it (distribute/replicated_plan.hpp). One Value or more, summed at the same
/// time; `in` and `out` may be the same.
struct AllReduce {
  struct Part {
    std::int64_t count;
    Operand in, out;
  };
  std::vector<Part> parts;
};

/// A loop over time: `body` is run for each step, on a table of addresses of its own. Its spaces are, in this order,
/// its arena, what it reads, and what it writes.
struct Scan {
  /// Where a space begins in each step: at the operand's entry number step + shift, of as many as there are, or of two
  /// in turn. Entries are `stride` bytes apart; 0 for what all steps share.
  struct Space {
    Operand operand;
    std::int64_t stride = 0, shift = 0;
    bool turns = false;
  };
  std::int64_t steps;
  bool reverse;
  std::shared_ptr<Body> body;
  std::vector<Space> spaces;
  /// Rows of the carried Values that may go through all steps by themselves, or 0, and how many chunks of them at
  /// once: each has an arena of `arena_bytes`, one behind the other, and a table of addresses.
  std::int64_t rows = 0;
  int arenas = 1;
  std::int64_t arena_bytes = 0;
};

}  // namespace instruction

using Instruction = std::variant<instruction::Elementwise, instruction::Gemm, instruction::Convolution,
                                 instruction::ConvolutionInput, instruction::ConvolutionFilter, instruction::MaxPool,
                                 instruction::PoolGather, instruction::PoolScatter, instruction::Reduce,
                                 instruction::ArgMax, instruction::OneHot, instruction::Gather, instruction::ScatterAdd,
                                 instruction::Softmax, instruction::Crossentropy, instruction::Transpose,
                                 instruction::Uniform, instruction::Copy, instruction::AllReduce, instruction::Scan>;

/// What a Scan runs, and the tables of addresses, one for each arena, that it fills for each step.
struct instruction::Body {
  std::vector<Instruction> instructions;
  std::vector<std::byte*> addresses;
};

/// "Gemm", "Elementwise", …
std::string_view name_of(const Instruction& instruction);

}  // namespace etude
