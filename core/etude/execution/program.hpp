#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "etude/base/dtype.hpp"
#include "etude/base/shape.hpp"
#include "etude/execution/operand.hpp"
#include "etude/graph/detail/elementwise.hpp"
#include "etude/graph/detail/op.hpp"

/// The programs of elementwise steps that a plan contains.
namespace etude::instruction {

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
    /// By the number's bits: NaN equals itself, and -0 is not 0.
    friend bool operator==(const Immediate& a, const Immediate& b) {
      return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value) && a.lane == b.lane;
    }
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

/// A program, run over ranges of memory one after the other.
struct Elementwise {
  Program program;
  std::vector<Segment> segments;
  std::shared_ptr<const Prepared> prepared = {};

  void list_memory(MemoryRanges& ranges) const;
  double operations() const;
};

}  // namespace etude::instruction
