#include "etude/optimizers/schedule.hpp"

#include <array>
#include <cmath>
#include <variant>
#include <vector>

#include "etude/base/random.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

/// The number of a node of scalars, from those of its operands; the elementwise functions are the kernels'.
double number_of(const Node& node, const std::vector<double>& numbers) {
  const auto operand = [&](std::size_t index) { return numbers[static_cast<std::size_t>(node.inputs[index])]; };
  return std::visit(
      [&]<class O>(const O& op) -> double {
        if constexpr (std::is_same_v<O, op::Constant>) {
          if (node.shape.rank() == 0) return op.value;
        } else if constexpr (std::is_same_v<O, op::Uniform>) {
          const std::array<std::uint32_t, 4> counter{0, static_cast<std::uint32_t>(operand(0)), op.stream,
                                                     static_cast<std::uint32_t>(RandomStream::step)};
          if (node.shape.rank() == 0 && op.first == 0) return uniform_from_bits(philox(op.seed, counter)[0]);
        } else if constexpr (std::is_same_v<O, op::Cast>) {
          return is_floating(node.dtype)        ? operand(0)
                 : node.dtype == DType::boolean ? operand(0) != 0
                                                : std::trunc(operand(0));
        } else if constexpr (op::ElementwiseOp<O>) {
          if constexpr (O::traits.arity == 1) return O::apply(operand(0));
          if constexpr (O::traits.arity == 2) return O::apply(operand(0), operand(1));
          if constexpr (O::traits.arity == 3) return O::apply(operand(0), operand(1), operand(2));
        }
        fail(ErrorKind::value, "LearningRateSchedule", name_of(node.op), " of shape ", node.shape,
             " - expected elementwise ops of scalars - write the schedule in such ops.");
      },
      node.op);
}

}  // namespace

double LearningRateSchedule::at(std::int64_t step) const {
  Graph graph;
  const Trace trace(graph);
  const Value rate = (*this)(graph.constant(static_cast<double>(step), DType::float64));
  std::vector<double> numbers;
  for (const Node& node : graph.nodes()) numbers.push_back(number_of(node, numbers));
  return numbers[static_cast<std::size_t>(rate.id())];
}

}  // namespace etude
