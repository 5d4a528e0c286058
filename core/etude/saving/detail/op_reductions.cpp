/// Ops of Keras that reduce axes or multiply matrices.
#include <algorithm>

#include "etude/activations/activations.hpp"
#include "etude/base/detail/heap_sort.hpp"
#include "etude/ops/arithmetic.hpp"
#include "etude/ops/einsum.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/products.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/ops/sorting.hpp"
#include "etude/ops/statistics.hpp"
#include "etude/saving/detail/op_builders.hpp"

namespace etude::builders {
namespace {

using A = const OpArguments&;
using Axes = std::vector<std::ptrdiff_t>;

std::ptrdiff_t rank_of(Value x) { return static_cast<std::ptrdiff_t>(x.shape().rank()); }

/// Integers that can be summed.
Value summable(Value x) { return size_of(x.dtype()) == 1 ? ops::cast(x, DType::int32) : x; }

using Reduction = Value (*)(Value, const Axes&, bool);
Outputs reduced(A a, Value x, Reduction reduction) {
  const Axes axes = a.axes(x.shape());
  return axes.empty() && rank_of(x) > 0 ? x : reduction(x, axes, a.option("keepdims", false));
}

/// The maximum, also of integers: -1 - x is never out of range.
Value largest(Value x, const Axes& axes, bool keepdims) {
  if (is_floating(x.dtype())) return ops::max(x, axes, keepdims);
  const Value flipped = -1 - ops::cast(x, DType::int32);
  return ops::cast(-1 - ops::min(flipped, axes, keepdims), x.dtype());
}

/// The index of the largest element along "axis", or among all.
Outputs index_of_largest(A a, Value x) {
  const auto axis = a.option<std::optional<std::ptrdiff_t>>("axis");
  const auto at = axis ? static_cast<std::ptrdiff_t>(x.shape().axis(*axis, a.where())) : 0;
  const Value y = ops::argmax(axis ? moved(x, at, rank_of(x) - 1) : ops::reshape(x, {-1}));
  if (!a.option("keepdims", false)) return y;
  Shape shape = x.shape();
  for (std::ptrdiff_t i = 0; i < rank_of(x); ++i)
    if (!axis || i == at) shape[i] = 1;
  return ops::reshape(y, shape);
}

/// The axes of the result, which an equation may leave out: those that occur once, in the order of the alphabet.
std::string implied(const std::string& operands) {
  std::string out;
  for (const char axis : operands)
    if (axis != ',' && std::ranges::count(operands, axis) == 1) out += axis;
  heap_sort(out);
  return out;
}

/// The equation of one operand.
Value einsum_of(A a, Value x, const std::string& axes, const std::string& out) {
  const bool fits = static_cast<std::ptrdiff_t>(axes.size()) == rank_of(x) &&
                    std::ranges::all_of(axes, [&](char axis) { return std::ranges::count(axes, axis) == 1; }) &&
                    std::ranges::all_of(out, [&](char axis) { return axes.find(axis) != std::string::npos; });
  if (!fits) a.unsupported("the equation \"" + axes + "->" + out + '"', "each axis of the operand once");
  Axes summed;
  std::string left;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (out.find(axes[i]) == std::string::npos)
      summed.push_back(static_cast<std::ptrdiff_t>(i));
    else
      left += axes[i];
  if (!summed.empty()) x = ops::sum(x, summed);
  std::vector<std::uint8_t> order;
  for (const char axis : out) order.push_back(static_cast<std::uint8_t>(left.find(axis)));
  return order.empty() ? x : ops::transpose(x, order);
}

}  // namespace

Outputs sum(A a) { return reduced(a, summable(a.value()), ops::sum); }
Outputs mean(A a) { return reduced(a, ops::to_floats(a.value()), ops::mean); }
Outputs max(A a) { return reduced(a, a.value(), largest); }
Outputs min(A a) { return reduced(a, a.value(), ops::min); }
Outputs prod(A a) { return reduced(a, a.value(), ops::prod); }
Outputs var(A a) { return reduced(a, a.value(), ops::var); }
Outputs std_(A a) { return reduced(a, a.value(), ops::std); }
Outputs any(A a) { return reduced(a, ops::to_bool(a.value()), ops::any); }
Outputs all(A a) { return reduced(a, ops::to_bool(a.value()), ops::all); }
Outputs count_nonzero(A a) { return reduced(a, ops::cast(ops::to_bool(a.value()), DType::int32), ops::sum); }
Outputs logsumexp(A a) { return reduced(a, ops::to_floats(a.value()), ops::logsumexp); }
Outputs norm(A a) {
  const Json& order = a.entry("ord");
  const Value x = ops::to_floats(a.value());
  const bool one_axis = a.axes(x.shape()).size() == 1;
  if (order == 1 && one_axis) return reduced(a, ops::absolute(x), ops::sum);
  if (!(order.is_null() || order == "fro" || (order == 2 && one_axis)))
    a.unsupported("ord = " + json_text(order), "None, or 1 or 2 of one axis");
  return reduced(a, x, ops::norm);
}
Outputs normalize(A a) {
  const Value x = ops::to_floats(a.value()), inverse = 1 / ops::norm(x, a.axes(x.shape()), true);
  return x * ops::minimum(inverse, ops::scalar(1 / a.option("epsilon", 1e-7), x));
}
Outputs argmax(A a) { return index_of_largest(a, ops::to_floats(a.value())); }
Outputs argmin(A a) { return index_of_largest(a, -ops::to_floats(a.value())); }
Outputs cumsum(A a) {
  const Value x = summable(a.value());
  const auto axis = a.option<std::optional<std::ptrdiff_t>>("axis");
  return ops::cumsum(axis ? x : ops::reshape(x, {-1}), axis.value_or(0));
}
/// x, and the axis that is sorted; all elements as one if the axis is null.
std::pair<Value, std::ptrdiff_t> sorted_axis(A a, Value x) {
  const auto axis = a.option<std::optional<std::ptrdiff_t>>("axis");
  return {axis ? x : ops::reshape(x, {-1}), axis.value_or(0)};
}
Outputs sort(A a) {
  const auto [x, axis] = sorted_axis(a, summable(a.value()));
  return ops::cast(ops::sort(x, axis), a.value().dtype());
}
Outputs argsort(A a) {
  const auto [x, axis] = sorted_axis(a, summable(a.value()));
  return ops::argsort(x, axis);
}
Outputs top_k(A a) {
  const auto [values, indices] = ops::top_k(a.value(), a.option<std::int64_t>("k"));
  return std::vector{values, indices};
}
Outputs median(A a) { return reduced(a, ops::to_floats(a.value()), ops::median); }
Outputs softmax(A a) {
  const Value x = ops::to_floats(a.value());
  const Axes axes = a.axes(x.shape());
  return axes == Axes{rank_of(x) - 1} ? ops::softmax(x) : activations::softmax(x, axes);
}
Outputs log_softmax(A a) {
  const Value x = ops::to_floats(a.value());
  const Axes axes = a.axes(x.shape());
  return axes == Axes{rank_of(x) - 1} ? ops::log_softmax(x) : activations::log_softmax(x, axes);
}

Outputs matmul(A a) {
  const std::vector<Value> x = a.alike(0, 2);
  const bool matrices = rank_of(x[0]) > 1 && rank_of(x[1]) > 1;
  return matrices ? ops::matmul(x[0], x[1]) : ops::dot(x[0], x[1]);
}
Outputs tensordot(A a) {
  const std::vector<Value> x = a.alike(0, 2);
  if (a.entry("axes").is_array()) return ops::tensordot(x[0], x[1], a.option<std::vector<Integers>>("axes"));
  return ops::tensordot(x[0], x[1], {a.option<std::int64_t>("axes", 2)});
}
Outputs einsum(A a) {
  auto equation = a.option<std::string>("subscripts");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::string operands = equation.substr(0, arrow);
  const bool implicit = arrow == std::string::npos;
  if (a.count() > 2 || (implicit && operands.find('.') != std::string::npos))
    a.unsupported("the equation \"" + equation + '"', "at most two operands, and the axes of the result after \"->\"");
  const std::string out = implicit ? implied(operands) : equation.substr(arrow + 2);
  if (a.count() == 1) return einsum_of(a, a.value(), operands, out);
  const std::vector<Value> x = a.alike(0, 2);
  return ops::einsum(operands + "->" + out, x[0], x[1]);
}

}  // namespace etude::builders
