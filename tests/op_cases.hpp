#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support.hpp"

/// The table of cases that gradient_test and parity_test go through. It has an entry for every alternative of Op, in
/// its order: an op without one does not link, and the linker names it.
namespace etude::testing {

/// One operand of a case, and the distribution of its numbers.
struct Argument {
  enum class Numbers {
    between,  ///< uniform in [low, high); integers for integer types
    apart,    ///< eighths in random order, distinct from zero, each other and other arguments: away from kinks
  };
  Shape shape;
  Numbers numbers = Numbers::between;
  double low = -2, high = 2;
  DType dtype = DType::float64;
};

/// One use of an op: its arguments and options.
struct OpCase {
  std::string name;
  std::vector<Argument> arguments;
  Function function;

  /// The arguments; float arguments become `floats`.
  std::vector<Tensor> draw(std::uint64_t seed, DType floats = DType::float64) const;
};

/// The gradients of an op.
enum class Gradient {
  passes,
  zero,     ///< none, because it is piecewise constant, or has no float arguments
  stopped,  ///< none, by definition
};

/// Numbers, and what an op makes of them, exactly, in every float dtype of the processor.
struct OpExample {
  std::string name;
  std::vector<Tensor> operands;
  Function function;
  std::vector<double> expected;
};

/// What an op refuses: its operands, and what must be named in the text.
struct OpRefusal {
  std::string name;
  std::vector<Argument> arguments;
  Function function;
  std::vector<std::string> names = {};
};

using Scalars = std::function<double(double, double, double)>;

struct OpEntry {
  std::string_view name;
  Gradient gradient;
  std::vector<OpCase> cases;

  /// For an elementwise op: its result, in doubles and independent of core; the tolerance of float32 and float64, in
  /// units of the last place; its dtypes; and the part of the number line on which it is defined.
  Scalars reference = {};
  int arity = 0;
  double ulps32 = 0, ulps64 = 0;
  std::vector<DType> dtypes = {};

  /// parity_test computes the examples. shape_rules_test wants a refusal of every op that a kernel computes, here or in
  /// its own table.
  std::vector<OpExample> examples = {};
  std::vector<OpRefusal> refusals = {};
};

/// Every op, in the order of the variant.
const std::vector<OpEntry>& op_table();
/// Functions composed of ops, without a rule or kernel: dropout, log_softmax, clip, …
const std::vector<OpCase>& composites();

/// Every use of every op, and the composites.
std::vector<OpCase> all_cases();

/// The same with extents of 0: in turn along each axis of each argument, and along all axes of the same extent. Many of
/// them are errors.
std::vector<OpCase> cases_without_elements();

/// Every use of every op with a gradient, and of the composites.
std::vector<OpCase> differentiable_cases();

}  // namespace etude::testing
