/// Ops of Keras that reduce axes or multiply matrices.
#include <algorithm>

#include "etude/activations/activations.hpp"
#include "etude/ops/einsum.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/saving/detail/op_builders.hpp"

namespace etude::builders {
namespace {

using A = const OpArguments&;
using Axes = std::vector<std::ptrdiff_t>;

std::ptrdiff_t rank_of(Value x) { return static_cast<std::ptrdiff_t>(x.shape().rank()); }

/// f of all elements along the axes, for dtypes and functions that have no reduction of their own.
Value folded(Value x, const Axes& axes, Value (*f)(Value, Value)) {
  for (const std::ptrdiff_t axis : axes)
    for (std::int64_t n = x.shape()[axis]; n > 1; n = x.shape()[axis]) {
      const Value halves = f(ops::slice(x, axis, 0, n / 2), ops::slice(x, axis, n / 2, n / 2));
      x = n % 2 > 0 ? ops::concatenate({halves, ops::slice(x, axis, n - 1, 1)}, axis) : halves;
    }
  return x;
}

/// The result of a reduction, without its axes of extent 1 unless "keepdims" is true.
Outputs finished(A a, Value y, const Axes& axes) {
  if (a.option("keepdims", false)) return y;
  Shape shape = y.shape();
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) shape = shape.without(*axis);
  return ops::reshape(y, shape);
}

/// Integers that can be summed.
Value summable(Value x) { return size_of(x.dtype()) == 1 ? ops::cast(x, DType::int32) : x; }

using Reduction = Value (*)(Value, const Axes&);
Outputs reduced(A a, Value x, Reduction reduction) {
  const Axes axes = a.axes(x.shape());
  return finished(a, axes.empty() ? x : reduction(x, axes), axes);
}

Value largest(Value x, const Axes& axes) {
  return is_floating(x.dtype()) ? ops::max(x, axes, true) : folded(x, axes, ops::maximum);
}
Value any_of(Value x, const Axes& axes) { return truth(ops::max(ops::cast(x, DType::float32), axes, true)); }
Value variance(Value x, const Axes& axes) { return ops::mean(ops::square(x - ops::mean(x, axes, true)), axes, true); }

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

/// The product of a and b, summed over these axes of them.
Value contracted(Value a, Value b, const Axes& of_a, const Axes& of_b) {
  std::string left, right, out;
  for (std::ptrdiff_t i = 0; i < rank_of(a); ++i) left += static_cast<char>('a' + i);
  for (std::ptrdiff_t i = 0; i < rank_of(b); ++i) right += static_cast<char>('A' + i);
  for (std::size_t i = 0; i < of_a.size(); ++i)
    right.at(b.shape().axis(of_b[i], "Tensordot")) = left.at(a.shape().axis(of_a[i], "Tensordot"));
  for (const char axis : left + right)
    if (left.find(axis) == std::string::npos || right.find(axis) == std::string::npos) out += axis;
  return ops::einsum(left + ',' + right + "->" + out, a, b);
}

Value product(Value a, Value b) {
  if (rank_of(a) == 0 || rank_of(b) == 0) return a * b;
  return contracted(a, b, {-1}, {rank_of(b) == 1 ? -1 : -2});
}

/// The axes of the result, which an equation may leave out: those that occur once, in the order of the alphabet.
std::string implied(const std::string& operands) {
  std::string out;
  for (const char axis : operands)
    if (axis != ',' && std::ranges::count(operands, axis) == 1) out += axis;
  std::ranges::sort(out);
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

Value floats(Value x) { return is_floating(x.dtype()) ? x : ops::cast(x, floatx()); }
Value truth(Value x) { return x.dtype() == DType::boolean ? x : ops::logical_not(ops::equal(x, ops::scalar(0, x))); }

Outputs sum(A a) {
  return reduced(a, summable(a.value()), [](Value x, const Axes& axes) { return ops::sum(x, axes, true); });
}
Outputs mean(A a) {
  return reduced(a, floats(a.value()), [](Value x, const Axes& axes) { return ops::mean(x, axes, true); });
}
Outputs max(A a) { return reduced(a, a.value(), largest); }
Outputs min(A a) {
  return reduced(a, a.value(), [](Value x, const Axes& axes) {
    return is_floating(x.dtype()) ? -ops::max(-x, axes, true) : folded(x, axes, ops::minimum);
  });
}
Outputs prod(A a) {
  return reduced(a, summable(a.value()), [](Value x, const Axes& axes) { return folded(x, axes, ops::multiply); });
}
Outputs var(A a) {
  const Value x = floats(a.value());
  const Value y = reduced(a, ops::upcast(x), variance);
  return ops::cast(y, x.dtype());
}
Outputs std_(A a) {
  const Value x = floats(a.value());
  const Value y = reduced(a, ops::upcast(x), [](Value v, const Axes& axes) { return ops::sqrt(variance(v, axes)); });
  return ops::cast(y, x.dtype());
}
Outputs any(A a) { return reduced(a, truth(a.value()), any_of); }
Outputs all(A a) {
  return reduced(a, truth(a.value()),
                 [](Value x, const Axes& axes) { return ops::logical_not(any_of(ops::logical_not(x), axes)); });
}
Outputs count_nonzero(A a) {
  return reduced(a, ops::cast(truth(a.value()), DType::int32),
                 [](Value x, const Axes& axes) { return ops::sum(x, axes, true); });
}
Outputs logsumexp(A a) {
  return reduced(a, floats(a.value()), [](Value x, const Axes& axes) {
    const Value most = ops::stop_gradient(ops::max(x, axes, true));
    return ops::log(ops::sum(ops::exp(x - most), axes, true)) + most;
  });
}
Outputs norm(A a) {
  const Json& order = a.entry("ord");
  const Value x = floats(a.value());
  const bool one_axis = a.axes(x.shape()).size() == 1;
  if (order == 1 && one_axis)
    return reduced(a, ops::absolute(x), [](Value v, const Axes& axes) { return ops::sum(v, axes, true); });
  if (!(order.is_null() || order == "fro" || (order == 2 && one_axis)))
    a.unsupported("ord = " + json_text(order), "None, or 1 or 2 of one axis");
  return reduced(a, ops::square(x), [](Value v, const Axes& axes) { return ops::sqrt(ops::sum(v, axes, true)); });
}
Outputs normalize(A a) {
  const Value x = floats(a.value());
  const Value inverse = 1 / ops::sqrt(ops::sum(ops::square(x), a.axes(x.shape()), true));
  return x * ops::minimum(inverse, ops::scalar(1 / a.option("epsilon", 1e-7), x));
}
Outputs argmax(A a) { return index_of_largest(a, floats(a.value())); }
Outputs argmin(A a) { return index_of_largest(a, -floats(a.value())); }
Outputs cumsum(A a) {
  const Value x = summable(a.value());
  const auto axis = a.option<std::optional<std::ptrdiff_t>>("axis");
  return ops::cumsum(axis ? x : ops::reshape(x, {-1}), axis.value_or(0));
}
Outputs softmax(A a) {
  const Value x = floats(a.value());
  const Axes axes = a.axes(x.shape());
  return axes == Axes{rank_of(x) - 1} ? ops::softmax(x) : activations::softmax(x, axes);
}
Outputs log_softmax(A a) {
  const Value x = floats(a.value());
  const Axes axes = a.axes(x.shape());
  return axes == Axes{rank_of(x) - 1} ? ops::log_softmax(x) : activations::log_softmax(x, axes);
}

Outputs matmul(A a) {
  const std::vector<Value> x = a.alike(0, 2);
  const bool matrices = rank_of(x[0]) > 1 && rank_of(x[1]) > 1;
  return matrices ? ops::matmul(x[0], x[1]) : product(x[0], x[1]);
}
Outputs dot(A a) {
  const std::vector<Value> x = a.alike(0, 2);
  return product(x[0], x[1]);
}
Outputs tensordot(A a) {
  const std::vector<Value> x = a.alike(0, 2);
  Axes of_a, of_b;
  const Json& axes = a.entry("axes");
  if (axes.is_array()) {
    const auto pair = a.option<std::vector<Integers>>("axes");
    if (pair.size() != 2 || pair[0].all().size() != pair[1].all().size())
      a.unsupported("axes = " + json_text(axes), "as many axes of both operands");
    of_a.assign(pair[0].all().begin(), pair[0].all().end());
    of_b.assign(pair[1].all().begin(), pair[1].all().end());
  } else {
    const auto count = a.option<std::ptrdiff_t>("axes", 2);
    if (count < 0 || count > std::min(rank_of(x[0]), rank_of(x[1])))
      a.unsupported("axes = " + json_text(axes), "as many axes as both operands have");
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      of_a.push_back(rank_of(x[0]) - count + i);
      of_b.push_back(i);
    }
  }
  return contracted(x[0], x[1], of_a, of_b);
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
