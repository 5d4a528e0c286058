#include <cmath>
#include <limits>

#include "etude/graph/detail/node.hpp"
#include "etude/ops/elementwise.hpp"
#include "op_entries.hpp"

namespace etude::testing {
namespace {

/// An elementwise op: its front function, its definition, and the ranges of its operands.
struct Pointwise {
  Function front;
  Scalars reference;
  Gradient gradient = Gradient::passes;
  std::vector<Argument> where = {};  // by operand; the last one applies to all further operands
  double ulps32 = 0, ulps64 = 0;
};

Scalars scalars(double (*f)(double)) {
  return [f](double a, double, double) { return f(a); };
}
Scalars scalars(double (*f)(double, double)) {
  return [f](double a, double b, double) { return f(a, b); };
}

const std::vector<Argument> anywhere{{{}, Numbers::between, -2, 2}}, apart{{{}, Numbers::apart}};
std::vector<Argument> between(double low, double high) { return {{{}, Numbers::between, low, high}}; }

constexpr Gradient zero = Gradient::zero, passes = Gradient::passes;

Pointwise row(op::Negate) {
  return {front(ops::negate), scalars([](double x) { return -x; }), passes, anywhere};
}
Pointwise row(op::Absolute) {
  return {front(ops::absolute), scalars([](double x) { return std::fabs(x); }), passes, apart};
}
Pointwise row(op::Sign) {
  return {front(ops::sign), scalars([](double x) { return double(x > 0) - double(x < 0); }), zero, apart};
}
Pointwise row(op::Square) {
  return {front(ops::square), scalars([](double x) { return x * x; }), passes, anywhere};
}
Pointwise row(op::Sqrt) {
  return {front(ops::sqrt), scalars([](double x) { return std::sqrt(x); }), passes, between(0.3, 3)};
}
Pointwise row(op::Exp) {
  return {front(ops::exp), scalars([](double x) { return std::exp(x); }), passes, anywhere, 2, 2};
}
Pointwise row(op::Log) {
  return {front(ops::log), scalars([](double x) { return std::log(x); }), passes, between(0.3, 3), 2, 2};
}
Pointwise row(op::Log1p) {
  return {front(ops::log1p), scalars([](double x) { return std::log1p(x); }), passes, between(-0.6, 3), 2, 2};
}
Pointwise row(op::Sin) {
  return {front(ops::sin), scalars([](double x) { return std::sin(x); }), passes, anywhere, 2, 2};
}
Pointwise row(op::Cos) {
  return {front(ops::cos), scalars([](double x) { return std::cos(x); }), passes, anywhere, 2, 2};
}
Pointwise row(op::Arctan) {
  return {front(ops::arctan), scalars([](double x) { return std::atan(x); }), passes, anywhere, 2, 2};
}
Pointwise row(op::Tanh) {
  return {front(ops::tanh), scalars([](double x) { return std::tanh(x); }), passes, anywhere, 2, 2};
}
Pointwise row(op::Sigmoid) {
  return {front(ops::sigmoid), scalars([](double x) { return 1 / (1 + std::exp(-x)); }), passes, anywhere, 3, 3};
}
Pointwise row(op::Relu) {
  return {front(ops::relu), scalars([](double x) { return x <= 0 ? 0 : x; }), passes, apart};
}
Pointwise row(op::Softplus) {
  return {front(ops::softplus),
          scalars([](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }),
          passes,
          anywhere,
          3,
          3};
}
Pointwise row(op::Erf) {
  return {front(ops::erf), scalars([](double x) { return std::erf(x); }), passes, anywhere, 3, 2};
}
Pointwise row(op::Floor) {
  return {front(ops::floor), scalars([](double x) { return std::floor(x); }), zero, apart};
}
Pointwise row(op::LogicalNot) {
  return {front(ops::logical_not), scalars([](double x) { return double(x == 0); }), zero, apart};
}
Pointwise row(op::IsFinite) {
  return {front(ops::is_finite), scalars([](double x) { return double(std::isfinite(x)); }), zero, anywhere};
}

Pointwise row(op::Add) {
  return {front(ops::add), scalars([](double a, double b) { return a + b; }), passes, anywhere};
}
Pointwise row(op::Subtract) {
  return {front(ops::subtract), scalars([](double a, double b) { return a - b; }), passes, anywhere};
}
Pointwise row(op::Multiply) {
  return {front(ops::multiply), scalars([](double a, double b) { return a * b; }), passes, anywhere};
}
Pointwise row(op::Divide) {
  return {front(ops::divide), scalars([](double a, double b) { return a / b; }), passes, between(0.4, 2)};
}
// A fraction of -infinity is NaN, as of any
// negative number; C has a number for it.
double power(double a, double b) {
  return a == -std::numeric_limits<double>::infinity() && b != std::floor(b) ? std::nan("") : std::pow(a, b);
}
Pointwise row(op::Power) {
  return {
      front(ops::power), scalars(power), passes, {{{}, Numbers::between, 0.3, 2}, {{}, Numbers::between, -2, 3}}, 2, 2};
}
Pointwise row(op::Maximum) {
  return {front(ops::maximum), scalars([](double a, double b) { return std::isnan(a) || a > b ? a : b; }), passes,
          apart};
}
Pointwise row(op::Minimum) {
  return {front(ops::minimum), scalars([](double a, double b) { return std::isnan(a) || a < b ? a : b; }), passes,
          apart};
}
Pointwise row(op::Equal) {
  return {front(ops::equal), scalars([](double a, double b) { return double(a == b); }), zero, apart};
}
Pointwise row(op::Less) {
  return {front(ops::less), scalars([](double a, double b) { return double(a < b); }), zero, apart};
}
Pointwise row(op::LessEqual) {
  return {front(ops::less_equal), scalars([](double a, double b) { return double(a <= b); }), zero, apart};
}
Pointwise row(op::LogicalAnd) {
  return {front(ops::logical_and), scalars([](double a, double b) { return double(a != 0 && b != 0); }), zero, apart};
}
Pointwise row(op::LogicalOr) {
  return {front(ops::logical_or), scalars([](double a, double b) { return double(a != 0 || b != 0); }), zero, apart};
}
Pointwise row(op::Select) {
  return {front(ops::where),
          [](double c, double a, double b) { return c != 0 ? a : b; },
          passes,
          {{{}, Numbers::between, 0, 2, DType::boolean}, {{}}}};
}

/// The shapes for elementwise ops of one, two and three operands: equal ones and ones that broadcast.
const std::vector<std::vector<Shape>>& shapes_of(int arity) {
  static const std::vector<std::vector<Shape>> all[] = {
      {{{}}, {{7}}, {{2, 3}}, {{3, 1, 2}}},
      {{{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{}, {4}}, {{5}, {1}}, {{3, 1, 2}, {4, 1}}},
      {{{2, 3}, {2, 3}, {2, 3}}, {{3}, {2, 3}, {}}, {{2, 1}, {}, {3}}}};
  return all[arity - 1];
}

std::string text_of(const std::vector<Argument>& arguments) {
  std::string text;
  for (const Argument& argument : arguments) text += (text.empty() ? "" : ", ") + argument.shape.to_string();
  return text;
}

template <op::ElementwiseOp F> OpEntry entry_of(const F& op) {
  const Pointwise row = testing::row(op);
  OpEntry entry{struct_name<F>(), row.gradient, {},         row.reference,
                F::traits.arity,  row.ulps32,   row.ulps64, {DType::float32, DType::float64}};
  if constexpr (!F::traits.floating) entry.dtypes.push_back(DType::int32);
  for (const std::vector<Shape>& shapes : shapes_of(F::traits.arity)) {
    std::vector<Argument> arguments;
    for (const Shape& shape : shapes) {
      arguments.push_back(row.where[std::min(arguments.size(), row.where.size() - 1)]);
      arguments.back().shape = shape;
    }
    entry.cases.push_back({text_of(arguments), arguments, row.front});
  }
  return entry;
}

}  // namespace

OpEntry elementwise_entry(const Op& op) {
  return std::visit(
      []<class F>(const F& function) -> OpEntry {
        if constexpr (op::ElementwiseOp<F>)
          return entry_of(function);
        else
          throw std::logic_error("not an elementwise op");
      },
      op);
}

}  // namespace etude::testing
