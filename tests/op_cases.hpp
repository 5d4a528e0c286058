#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support.hpp"

/// The table of cases that gradient_test and parity_test go through. It has an entry for every alternative of Op, in
/// its order: an op without one does not link, and the linker names it.
namespace etude::testing {

/// One operand of a case, and where its numbers lie.
struct Argument {
  enum class Numbers {
    between,  ///< uniform in [low, high); whole numbers for integers
    apart,    ///< eighths in random order, off zero and off each other and those of other arguments: away from kinks
  };
  Shape shape;
  Numbers numbers = Numbers::between;
  double low = -2, high = 2;
  DType dtype = DType::float64;
};

/// One use of an op: what it is applied to, and how.
struct OpCase {
  std::string name;
  std::vector<Argument> arguments;
  Function function;

  /// Tensors to apply it to; float arguments become `floats`.
  std::vector<Tensor> draw(std::uint64_t seed, DType floats = DType::float64) const;
};

/// What passes an op backwards.
enum class Gradient {
  passes,
  zero,     ///< nothing, for it is constant wherever it is smooth, or takes no floats
  stopped,  ///< nothing, on purpose
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

  /// Of an elementwise op: what it computes, in doubles and independently of core; how far, in units of the last place,
  /// float32 and float64 may be from it; the dtypes it takes; and the part of the number line in which it is defined.
  Scalars reference = {};
  int arity = 0;
  double ulps32 = 0, ulps64 = 0;
  std::vector<DType> dtypes = {};

  /// parity_test computes the examples. shape_rules_test wants a refusal of every op that a kernel computes, here or in
  /// its own table.
  std::vector<OpExample> examples = {};
  std::vector<OpRefusal> refusals = {};
};

/// Every op there is, in the order of the variant.
const std::vector<OpEntry>& op_table();
/// What is made of ops and has neither rule nor kernel of its own: dropout, log_softmax, clip, …
const std::vector<OpCase>& composites();

/// Every use of every op, and the composites.
std::vector<OpCase> all_cases();

/// The same with extents of 0: in turn along each axis of each argument, and along all axes of the same extent. Many of
/// them are refused.
std::vector<OpCase> cases_without_elements();

/// Every use of every op that gradients pass, and of the composites.
std::vector<OpCase> differentiable_cases();

}  // namespace etude::testing
