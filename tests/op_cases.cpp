#include "op_cases.hpp"

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/pooling.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/scan.hpp"
#include "etude/ops/shape.hpp"

namespace etude::testing {
namespace {

using Numbers = Argument::Numbers;
using Values = std::span<const Value>;

// ---- elementwise ops: a line each ----

/// An elementwise op: its front function, what it computes, and where its operands lie.
struct Pointwise {
  Function front;
  Scalars reference;
  Gradient gradient = Gradient::passes;
  std::vector<Argument> where = {};  // by operand; the last one's numbers are those of the rest
  double ulps32 = 0, ulps64 = 0;
};

Function front(Value (*f)(Value)) {
  return [f](Values x) { return f(x[0]); };
}
Function front(Value (*f)(Value, Value)) {
  return [f](Values x) { return f(x[0], x[1]); };
}
Function front(Value (*f)(Value, Value, Value)) {
  return [f](Values x) { return f(x[0], x[1], x[2]); };
}

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
// float64 loses two digits between 1.8 and 2.3.
Pointwise row(op::Erf) {
  return {front(ops::erf), scalars([](double x) { return std::erf(x); }), passes, anywhere, 3, 80};
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
// Of large results it is only as exact as the exponent, b · log a, is. A fraction of -infinity is NaN, as of any
// negative number; C has a number for it.
double power(double a, double b) {
  return a == -std::numeric_limits<double>::infinity() && b != std::floor(b) ? std::nan("") : std::pow(a, b);
}
Pointwise row(op::Power) {
  return {front(ops::power),
          scalars(power),
          passes,
          {{{}, Numbers::between, 0.3, 2}, {{}, Numbers::between, -2, 3}},
          200,
          1000};
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

/// The shapes that elementwise ops of one, two and three operands are tried on: equal ones and ones that broadcast.
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

template <op::ElementwiseOp F> OpEntry entry(const F& op) {
  const Pointwise row = testing::row(op);
  OpEntry entry{op_name<F>(), row.gradient, {},         row.reference,
                F::arity,     row.ulps32,   row.ulps64, {DType::float32, DType::float64}};
  if constexpr (!op::floating_only<F>) entry.dtypes.push_back(DType::int32);
  for (const std::vector<Shape>& shapes : shapes_of(F::arity)) {
    std::vector<Argument> arguments;
    for (const Shape& shape : shapes) {
      arguments.push_back(row.where[std::min(arguments.size(), row.where.size() - 1)]);
      arguments.back().shape = shape;
    }
    entry.cases.push_back({text_of(arguments), arguments, row.front});
  }
  return entry;
}

// ---- the other ops ----

Argument number(const Shape& shape) { return {shape, Numbers::between, -2, 2}; }
Argument spaced(const Shape& shape) { return {shape, Numbers::apart}; }
Argument labels(const Shape& shape, double depth) { return {shape, Numbers::between, 0, depth, DType::int32}; }

OpEntry entry(const op::Input&) {
  return {"Input", Gradient::passes, {{"the batch itself", {number({2, 3})}, [](Values x) { return x[0]; }}}};
}

OpEntry entry(const op::Constant&) {
  const auto constant = [](const Shape& shape, DType dtype) {
    return [=](Values) { return ops::cast(Graph::current().constant(3, dtype, shape), DType::float64); };
  };
  return {"Constant",
          Gradient::zero,
          {{"a scalar", {}, constant({}, DType::float64)},
           {"[2, 3]", {}, constant({2, 3}, DType::float32)},
           {"int32 [4]", {}, constant({4}, DType::int32)}}};
}

OpEntry entry(const op::Read&) {
  const Variable variable("v", tensor_of({2, 3}, DType::float64, {1, 2, 3, 4, 5, 6}));
  return {"Read", Gradient::zero, {{"[2, 3]", {}, [=](Values) { return Graph::current().read(variable); }}}};
}

OpEntry entry(const op::Cast&) {
  const auto there_and_back = [](DType dtype) {
    return [=](Values x) { return ops::cast(ops::cast(x[0], dtype), x[0].dtype()); };
  };
  // Eighths and steps of 2^-20 are exact in float32.
  return {
      "Cast",
      Gradient::passes,
      {{"by float32", {spaced({2, 3})}, there_and_back(DType::float32)},
       {"of a scalar", {spaced({})}, there_and_back(DType::float32)},
       {"by float64", {spaced({5})}, [](Values x) { return x[0].graph().append(op::Cast{x[0].dtype()}, {x[0]}); }}}};
}

OpEntry entry(const op::StopGradient&) {
  return {
      "StopGradient",
      Gradient::stopped,
      {{"[2, 3]", {number({2, 3})}, front(ops::stop_gradient)}, {"a scalar", {number({})}, front(ops::stop_gradient)}}};
}

OpEntry entry(const op::Broadcast&) {
  OpEntry entry{"Broadcast", Gradient::passes, {}};
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{
           {{}, {2, 3}}, {{3}, {2, 3}}, {{2, 1}, {2, 3}}, {{1}, {4}}, {{1, 1}, {3, 2}}, {{2, 1, 3}, {4, 2, 2, 3}}})
    entry.cases.push_back({from.to_string() + " to " + to.to_string(), {number(from)}, [=](Values x) {
                             return ops::broadcast_to(x[0], to);
                           }});
  return entry;
}

OpEntry entry(const op::Reshape&) {
  OpEntry entry{"Reshape", Gradient::passes, {}};
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{
           {{2, 3}, {3, 2}}, {{2, 3}, {-1}}, {{6}, {2, -1, 1}}, {{}, {1, 1}}, {{1}, {}}})
    entry.cases.push_back(
        {from.to_string() + " to " + to.to_string(), {number(from)}, [=](Values x) { return ops::reshape(x[0], to); }});
  return entry;
}

OpEntry entry(const op::Transpose&) {
  OpEntry entry{"Transpose", Gradient::passes, {}};
  for (const auto& [shape, order] :
       std::vector<std::pair<Shape, std::vector<std::uint8_t>>>{{{2, 3}, {}},
                                                                {{2, 3}, {0, 1}},
                                                                {{2, 3, 4}, {1, 2, 0}},
                                                                {{2, 3, 4}, {2, 0, 1}},
                                                                {{2, 1, 3, 2}, {3, 1, 0, 2}}})
    entry.cases.push_back({shape.to_string() + (order.empty() ? " reversed" : ""), {number(shape)}, [=](Values x) {
                             return ops::transpose(x[0], order);
                           }});
  return entry;
}

OpEntry entry(const op::Slice&) {
  OpEntry entry{"Slice", Gradient::passes, {}};
  for (const auto& [shape, axis, first, count] :
       std::vector<std::tuple<Shape, std::ptrdiff_t, std::int64_t, std::int64_t>>{
           {{5}, 0, 1, 3}, {{4, 3}, 0, 1, 2}, {{4, 6}, -1, 2, 3}, {{2, 3, 4}, 1, 2, 1}, {{1, 3}, 1, 0, 1}})
    entry.cases.push_back({shape.to_string() + " axis " + std::to_string(axis), {number(shape)}, [=](Values x) {
                             return ops::slice(x[0], axis, first, count);
                           }});
  return entry;
}

OpEntry entry(const op::Reverse&) {
  OpEntry entry{"Reverse", Gradient::passes, {}};
  for (const auto& [shape, axis] :
       std::vector<std::pair<Shape, std::ptrdiff_t>>{{{5}, 0}, {{4, 3}, 0}, {{4, 3}, 1}, {{2, 3, 2}, 1}, {{1, 2}, 0}})
    entry.cases.push_back({shape.to_string() + " axis " + std::to_string(axis), {number(shape)}, [=](Values x) {
                             return ops::reverse(x[0], axis);
                           }});
  return entry;
}

OpEntry entry(const op::Concatenate&) {
  const auto along = [](std::ptrdiff_t axis) {
    return [=](Values x) { return ops::concatenate({x.begin(), x.end()}, axis); };
  };
  return {"Concatenate",
          Gradient::passes,
          {{"[2] [3]", {number({2}), number({3})}, along(0)},
           {"columns", {number({4, 2}), number({4, 1}), number({4, 3})}, along(-1)},
           {"rows", {number({1, 3}), number({2, 3})}, along(0)},
           {"a middle axis", {number({2, 1, 3}), number({2, 2, 3})}, along(1)},
           {"twice the same", {number({2, 3})}, [](Values x) { return ops::concatenate({x[0], x[0]}, 1); }},
           {"what programs compute", {number({3, 2}), number({3, 2})}, [](Values x) {
              return ops::concatenate({ops::exp(x[0]), ops::tanh(x[1]), x[0] * x[1]}, -1);
            }}}};
}

/// A reduction over different axes, that go or stay.
std::vector<OpCase> reductions(Numbers numbers, Value (*reduce)(Value, const std::vector<std::ptrdiff_t>&, bool)) {
  std::vector<OpCase> cases;
  for (const auto& [shape, axes] : std::vector<std::pair<Shape, std::vector<std::ptrdiff_t>>>{{{}, {}},
                                                                                              {{7}, {}},
                                                                                              {{2, 3}, {}},
                                                                                              {{2, 3}, {0}},
                                                                                              {{2, 3}, {-1}},
                                                                                              {{2, 3, 2}, {1}},
                                                                                              {{2, 3, 2}, {0, 2}},
                                                                                              {{2, 3, 2}, {0, 1}},
                                                                                              {{1, 4}, {0}}})
    for (const bool keepdims : {false, true})
      cases.push_back(
          {shape.to_string() + " over " + std::to_string(axes.size()) + " axes" + (keepdims ? ", kept" : ""),
           {{shape, numbers}},
           [=](Values x) { return reduce(x[0], axes, keepdims); }});
  return cases;
}

OpEntry entry(const op::Sum&) { return {"Sum", Gradient::passes, reductions(Numbers::between, ops::sum)}; }
OpEntry entry(const op::Max&) { return {"Max", Gradient::passes, reductions(Numbers::apart, ops::max)}; }

OpEntry entry(const op::ArgMax&) {
  return {"ArgMax",
          Gradient::zero,
          {{"[5]", {spaced({5})}, front(ops::argmax)},
           {"[2, 3]", {spaced({2, 3})}, front(ops::argmax)},
           {"[2, 2, 4]", {spaced({2, 2, 4})}, front(ops::argmax)}}};
}

OpEntry entry(const op::OneHot&) {
  const auto one_hot = [](std::int64_t depth) {
    return [=](Values x) { return ops::one_hot(x[0], depth, DType::float64); };
  };
  return {"OneHot",
          Gradient::zero,
          {{"a scalar", {labels({}, 3)}, one_hot(3)},
           {"[4]", {labels({4}, 3)}, one_hot(3)},
           {"[2, 3], some out of range", {labels({2, 3}, 9)}, one_hot(4)}}};
}

OpEntry entry(const op::MatMul&) {
  OpEntry entry{"MatMul", Gradient::passes, {}};
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{2, 3, 4}, {1, 3, 2}, {3, 2, 1}, {1, 1, 1}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        entry.cases.push_back({std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n) +
                                   (ta ? " At" : " A") + (tb ? " Bt" : " B"),
                               {number(ta ? Shape{k, m} : Shape{m, k}), number(tb ? Shape{n, k} : Shape{k, n})},
                               [=](Values x) { return ops::matmul(x[0], x[1], ta, tb); }});
  entry.cases.push_back(
      {"[2, 3, 4] rows", {number({2, 3, 4}), number({4, 2})}, [](Values x) { return ops::matmul(x[0], x[1]); }});
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      entry.cases.push_back(
          {std::string("[2, 3] products of 2 x 3 x 4") + (ta ? " At" : " A") + (tb ? " Bt" : " B"),
           {number(ta ? Shape{2, 3, 3, 2} : Shape{2, 3, 2, 3}), number(tb ? Shape{2, 3, 4, 3} : Shape{2, 3, 3, 4})},
           [=](Values x) { return ops::matmul(x[0], x[1], ta, tb); }});
  entry.cases.push_back({"leading axes that broadcast", {number({2, 1, 2, 3}), number({3, 3, 2})}, [](Values x) {
                           return ops::matmul(x[0], x[1]);
                         }});
  entry.cases.push_back({"heads", {number({2, 3, 2, 2}), number({2, 4, 2, 2})}, [](Values x) {
                           const auto heads = [](Value v) { return ops::transpose(v, {0, 2, 1, 3}); };
                           return heads(ops::matmul(ops::matmul(heads(x[0]), heads(x[1]), false, true), heads(x[1])));
                         }});
  entry.cases.push_back({"a matrix with itself", {number({3, 3})}, [](Values x) { return ops::matmul(x[0], x[0]); }});
  return entry;
}

/// A convolution's operands: x and kernel, and their window.
struct Convolved {
  Shape x, kernel;
  Window window;
  Shape y() const { return {x[0], window.outputs(0, x[1]), window.outputs(1, x[2]), kernel[3]}; }
  std::string name() const {
    return x.to_string() + " by " + kernel.to_string() + " at " + Shape(window.strides).to_string() + ", dilated " +
           Shape(window.dilation).to_string() + (window.padded() ? ", padded" : "");
  }
};

/// Odd sizes, strides of 1 to 3, padding, dilation, groups, axes of 1; windows with gaps between them.
std::vector<Convolved> convolutions() {
  const auto same = [](const Shape& x, const Shape& kernel, Window window) {
    window.extent = {kernel[0], kernel[1]};
    return Convolved{x, kernel, ops::padded(window, "same", {x[1], x[2]})};
  };
  const auto valid = [](const Shape& x, const Shape& kernel, Window window) {
    window.extent = {kernel[0], kernel[1]};
    return Convolved{x, kernel, window};
  };
  return {valid({2, 4, 5, 1}, {3, 3, 1, 3}, {}),
          same({1, 3, 4, 2}, {2, 3, 2, 2}, {}),
          valid({1, 5, 6, 2}, {2, 2, 2, 3}, {.strides = {2, 3}}),
          same({2, 5, 4, 1}, {3, 3, 1, 2}, {.strides = {2, 2}}),
          same({1, 4, 4, 1}, {1, 2, 1, 2}, {.strides = {3, 3}}),
          valid({1, 6, 5, 2}, {2, 3, 2, 1}, {.dilation = {2, 2}}),
          same({1, 4, 3, 1}, {3, 2, 1, 2}, {.dilation = {1, 2}}),
          same({2, 3, 3, 4}, {2, 2, 2, 6}, {}),
          valid({1, 3, 3, 3}, {2, 2, 1, 3}, {.strides = {1, 2}}),
          valid({2, 1, 1, 3}, {1, 1, 3, 2}, {}),
          valid({1, 3, 1, 2}, {3, 1, 2, 1}, {})};
}

template <class Apply> std::vector<OpCase> convolution_cases(Shape (*a)(const Convolved&), Shape (*b)(const Convolved&),
                                                             Apply apply) {
  std::vector<OpCase> cases;
  for (const Convolved& c : convolutions())
    cases.push_back({c.name(), {number(a(c)), number(b(c))}, [=](Values x) { return apply(x, c); }});
  return cases;
}

Shape shape_x(const Convolved& c) { return c.x; }
Shape shape_kernel(const Convolved& c) { return c.kernel; }
Shape shape_y(const Convolved& c) { return c.y(); }

OpEntry entry(const op::Convolution&) {
  return {"Convolution", Gradient::passes, convolution_cases(shape_x, shape_kernel, [](Values x, const Convolved& c) {
            return ops::convolution(x[0], x[1], c.window);
          })};
}
OpEntry entry(const op::ConvolutionInput&) {
  return {"ConvolutionInput", Gradient::passes,
          convolution_cases(shape_y, shape_kernel, [](Values x, const Convolved& c) {
            return ops::convolution_input(x[0], x[1], c.window, c.x);
          })};
}
OpEntry entry(const op::ConvolutionFilter&) {
  return {"ConvolutionFilter", Gradient::passes, convolution_cases(shape_x, shape_y, [](Values x, const Convolved& c) {
            return ops::convolution_filter(x[0], x[1], c.window, c.kernel);
          })};
}

/// Windows that touch, overlap, leave gaps and reach into padding; one that needs more than a byte for its cells.
std::vector<std::pair<Shape, Window>> poolings() {
  std::vector<std::pair<Shape, Window>> result{{{2, 4, 5, 3}, {.extent = {2, 2}, .strides = {2, 2}}},
                                               {{1, 4, 4, 1}, {.extent = {3, 2}, .strides = {1, 1}}},
                                               {{1, 6, 5, 2}, {.extent = {2, 1}, .strides = {3, 2}}},
                                               {{1, 5, 3, 9}, {.extent = {2, 2}, .strides = {2, 2}}},
                                               {{2, 3, 5, 2}, {.extent = {3, 3}, .strides = {2, 2}}},
                                               {{1, 17, 18, 1}, {.extent = {17, 17}, .strides = {1, 1}}},
                                               {{2, 1, 1, 2}, {}}};
  for (const std::size_t i : {3u, 4u})
    result[i].second = ops::padded(result[i].second, "same", {result[i].first[1], result[i].first[2]});
  return result;
}

Shape pooled(const Shape& x, const Window& window) {
  return {x[0], window.outputs(0, x[1]), window.outputs(1, x[2]), x[3]};
}

/// Any cells of the window: also such as lie in the padding.
Argument cells(const Shape& shape, const Window& window) {
  const auto count = static_cast<double>(window.cells());
  return {shape, Numbers::between, 0, count, count > 256 ? DType::int32 : DType::uint8};
}

std::string name_of(const Shape& x, const Window& window) {
  return x.to_string() + " by " + Shape(window.extent).to_string() + " at " + Shape(window.strides).to_string();
}

OpEntry entry(const op::PoolArgMax&) {
  OpEntry entry{"PoolArgMax", Gradient::zero, {}};
  for (const auto& [x, window] : poolings())
    entry.cases.push_back({name_of(x, window), {spaced(x)}, [over = window](Values v) {
                             return ops::cast(ops::pool_argmax(v[0], over), v[0].dtype());
                           }});
  return entry;
}
OpEntry entry(const op::PoolGather&) {
  OpEntry entry{"PoolGather", Gradient::passes, {}};
  for (const auto& [x, window] : poolings()) {
    entry.cases.push_back({name_of(x, window),
                           {number(x), cells(pooled(x, window), window)},
                           [over = window](Values v) { return ops::pool_gather(v[0], v[1], over); }});
    entry.cases.push_back({name_of(x, window) + " of the largest", {spaced(x)}, [over = window](Values v) {
                             return ops::max_pool(v[0], over);
                           }});
  }
  return entry;
}
OpEntry entry(const op::PoolScatter&) {
  OpEntry entry{"PoolScatter", Gradient::passes, {}};
  for (const auto& [x, window] : poolings())
    entry.cases.push_back({name_of(x, window),
                           {number(pooled(x, window)), cells(pooled(x, window), window)},
                           [from = x, over = window](Values v) { return ops::pool_scatter(v[0], v[1], over, from); }});
  return entry;
}

OpEntry entry(const op::Softmax&) {
  OpEntry entry{"Softmax", Gradient::passes, {}};
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 2, 3}, Shape{3, 1}})
    entry.cases.push_back({shape.to_string(), {number(shape)}, front(ops::softmax)});
  return entry;
}

OpEntry entry(const op::SoftmaxCrossentropy&) {
  OpEntry entry{"SoftmaxCrossentropy", Gradient::passes, {}};
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 2, 3}, Shape{3, 1}})
    entry.cases.push_back(
        {shape.to_string(), {number(shape), {shape, Numbers::between, 0.1, 1}}, front(ops::softmax_crossentropy)});
  return entry;
}

OpEntry entry(const op::SparseSoftmaxCrossentropy&) {
  OpEntry entry{"SparseSoftmaxCrossentropy", Gradient::passes, {}};
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 2, 3}, Shape{3, 1}})
    entry.cases.push_back({shape.to_string(),
                           {number(shape), labels(shape.without(-1), static_cast<double>(shape[-1]))},
                           front(ops::sparse_softmax_crossentropy)});
  return entry;
}

OpEntry entry(const op::Uniform&) {
  OpEntry entry{"Uniform", Gradient::zero, {}};
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 3}})
    entry.cases.push_back({shape.to_string(), {labels({}, 9)}, [=](Values x) {
                             return ops::uniform(shape, DType::float64, 1, 2, x[0]);
                           }});
  return entry;
}

/// What a loop hands on in the end, and puts out at every step, in one Value.
Value all_of(const ops::ScanResult& result) {
  Value sum = ops::sum(result.carry.front());
  for (const Value& value : result.carry) sum = sum + ops::sum(ops::sin(value));
  for (const Value& value : result.outputs) sum = sum + ops::sum(ops::square(value) * value);
  return sum;
}

OpEntry entry(const op::Scan&) {
  using Steps = std::span<const Value>;
  const auto running_sum = [](bool reverse) {
    return [=](Values x) {
      return ops::scan([](Steps sum, Steps in, Steps) { return ops::ScanStep{{sum[0] + in[0]}, {sum[0] + in[0]}}; },
                       {x[0]}, {x[1]}, {}, reverse)
          .outputs[0];
    };
  };
  const auto recurrent = [](Values x) {
    return ops::scan([](Steps h, Steps in,
                        Steps u) { return ops::ScanStep{{ops::tanh(in[0] + ops::matmul(h[0], u[0]))}, {}}; },
                     {x[0]}, {x[1]}, {x[2]})
        .carry[0];
  };
  const auto swapping = [](Values x) {
    return all_of(ops::scan(
        [](Steps carry, Steps in, Steps) {
          return ops::ScanStep{{carry[1], carry[0] * in[0]}, {carry[0], in[0], carry[1] + carry[0]}};
        },
        {x[0], x[0] * 0.5}, {x[1]}));
  };
  const auto gated = [](bool reverse) {
    return [=](Values x) {
      return all_of(ops::scan(
          [](Steps carry, Steps in, Steps u) {
            const auto gates = ops::split(in[0] + ops::matmul(carry[0], u[0]) + u[1], 4);
            const Value c = ops::sigmoid(gates[1]) * carry[1] + ops::sigmoid(gates[0]) * ops::tanh(gates[2]);
            const Value h = ops::sigmoid(gates[3]) * ops::tanh(c);
            return ops::ScanStep{{h, c}, {h}};
          },
          {x[0], x[1]}, {x[2]}, {x[3], x[4]}, reverse));
    };
  };
  const auto masked = [](Values x) {
    return all_of(
        ops::scan([](Steps carry, Steps in,
                     Steps) { return ops::ScanStep{{ops::where(in[1], carry[0] * in[0], carry[0])}, {carry[0]}}; },
                  {x[0]}, {x[1], x[2]}));
  };
  const auto nested = [](Values x) {
    return all_of(ops::scan(
        [](Steps outer, Steps in, Steps w) {
          const auto inner =
              ops::scan([](Steps sum, Steps row, Steps c) { return ops::ScanStep{{sum[0] * c[0] + row[0]}, {sum[0]}}; },
                        {outer[0]}, {in[0]}, {w[0]});
          return ops::ScanStep{{inner.carry[0]}, inner.outputs};
        },
        {x[0]}, {x[1]}, {x[2]}));
  };
  return {"Scan",
          Gradient::passes,
          {{"running sum", {number({3}), number({4, 3})}, running_sum(false)},
           {"running sum from the end", {number({3}), number({4, 3})}, running_sum(true)},
           {"one step", {number({3}), number({1, 3})}, running_sum(false)},
           {"recurrent product", {number({2, 3}), number({4, 2, 3}), number({3, 3})}, recurrent},
           {"carried Values that change places", {number({3}), number({3, 3})}, swapping},
           {"gates", {number({2, 2}), number({2, 2}), number({3, 2, 8}), number({2, 8}), number({8})}, gated(false)},
           {"gates from the end",
            {number({2, 2}), number({2, 2}), number({3, 2, 8}), number({2, 8}), number({8})},
            gated(true)},
           {"masked", {number({3}), number({4, 3}), {{4, 3}, Numbers::between, 0, 2, DType::boolean}}, masked},
           {"a loop in a loop", {number({2}), number({3, 2, 2}), number({2})}, nested}}};
}

OpEntry entry(const op::AllReduce&) {
  return {"AllReduce", Gradient::passes, {{"one replica", {number({2, 3})}, front(ops::all_reduce)}}};
}

template <std::size_t... I> std::vector<OpEntry> entries(std::index_sequence<I...>) {
  return {entry(std::variant_alternative_t<I, Op>{})...};
}

double middle_of_eighths(std::int64_t count) { return static_cast<double>(count / 2); }

}  // namespace

std::vector<Tensor> OpCase::draw(std::uint64_t seed, DType floats) const {
  Random random = draws(seed);
  std::vector<Tensor> tensors;
  for (const Argument& argument : arguments) {
    const DType dtype = is_floating(argument.dtype) ? floats : argument.dtype;
    if (argument.numbers == Argument::Numbers::between) {
      tensors.push_back(random_tensor(random, argument.shape, dtype, argument.low, argument.high));
      continue;
    }
    Tensor tensor(argument.shape, DType::float64);
    const auto data = tensor.data<double>();
    // 1/16 off the eighths for the first argument, 1/32 for the second: never equal, and never whole.
    const double shift = tensors.empty() ? 0.5 : 0.25;
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = (static_cast<double>(i) - middle_of_eighths(tensor.size()) + shift) / 8;
    for (std::size_t left = data.size(); left > 1; --left)
      std::swap(data[left - 1], data[random.below(static_cast<std::uint32_t>(left))]);
    tensors.push_back(tensor.astype(dtype));
  }
  return tensors;
}

const std::vector<OpEntry>& op_table() {
  static const std::vector<OpEntry> table = entries(std::make_index_sequence<std::variant_size_v<Op>>{});
  return table;
}

const std::vector<OpCase>& composites() {
  const Window window{.extent = {3, 2}}, pool{.extent = {2, 2}, .strides = {2, 2}};
  static const std::vector<OpCase> cases{
      {"a convolution, pooled after bias and relu",
       {number({2, 6, 6, 1}), number({3, 2, 1, 2}), number({2})},
       [=](Values x) { return ops::max_pool(ops::relu(ops::convolution(x[0], x[1], window) + x[2]), pool); }},
      {"a convolution of a pooled one, pooled",
       {number({1, 7, 8, 2}), number({3, 2, 2, 3}), number({3, 2, 3, 2})},
       [=](Values x) {
         const Value y =
             ops::max_pool(ops::convolution(ops::sin(x[0]), x[1], {.extent = {3, 2}, .before = {1, 1}}), pool);
         return ops::max_pool(ops::convolution(y, x[2], {.extent = {3, 2}, .after = {2, 1}}), pool);
       }},
      {"greater",
       {spaced({4}), spaced({4})},
       [](Values x) { return ops::where(ops::greater(x[0], x[1]), x[0], x[1]); }},
      {"greater_equal",
       {spaced({4}), spaced({4})},
       [](Values x) { return ops::where(ops::greater_equal(x[0], x[1]), x[0], x[1]); }},
      {"clip", {spaced({2, 9})}, [](Values x) { return ops::clip(x[0], -0.5, 0.5); }},
      {"divide_no_nan", {number({2, 3}), spaced({3})}, front(ops::divide_no_nan)},
      {"divide_no_nan by zero", {number({2, 3})}, [](Values x) { return ops::divide_no_nan(x[0], x[0] * 0.0); }},
      {"mean", {number({2, 3, 2})}, [](Values x) { return ops::mean(x[0], {0, 2}); }},
      {"expand_dims", {number({2, 3})}, [](Values x) { return ops::expand_dims(x[0], 1); }},
      {"squeeze", {number({2, 1, 3})}, [](Values x) { return ops::squeeze(x[0], 1); }},
      {"sum_to", {number({4, 2, 3})}, [](Values x) { return ops::sum_to(x[0], {2, 1}); }},
      {"gates of one product",
       {number({3, 2}), number({2, 8})},
       [](Values x) {
         const std::vector<Value> gates = ops::split(ops::matmul(x[0], x[1]), 4);
         return ops::sigmoid(gates[0]) * ops::tanh(gates[1]) + ops::sigmoid(gates[2]) * gates[3];
       }},
      {"log_softmax", {spaced({2, 3})}, front(ops::log_softmax)},
      {"sigmoid_crossentropy", {number({2, 3}), number({2, 3})}, front(ops::sigmoid_crossentropy)},
      {"dropout",
       {number({4, 5})},
       [](Values x) { return ops::dropout(x[0], 0.4, 1, 2, Graph::current().constant(3, DType::int32)); }},
      {"rows made even",
       {number({3, 2, 5}), number({5})},
       [](Values x) {
         const Value centered = x[0] - ops::mean(x[0], {-1}, true);
         return centered / ops::sqrt(ops::mean(ops::square(centered), {-1}, true) + 0.1) * x[1];
       }},
      {"rows of two axes",
       {spaced({2, 3, 4})},
       [](Values x) { return ops::exp(x[0] - ops::max(x[0], {1, 2}, true)) * ops::sum(x[0], {2}, true); }},
      {"what rows sum to, of a row",
       {number({4, 4})},
       [](Values x) { return x[0] * ops::sum(x[0], {1}) + ops::sum(x[0], {1}, true); }},
      {"x used thrice", {number({3})}, [](Values x) { return x[0] * ops::exp(x[0]) + ops::sin(x[0]); }},
      {"numbers beside Values",
       {{{3}, Numbers::between, 0.5, 2}},
       [](Values x) { return (1 - 2 * x[0]) / 3 + (4 / x[0] - 5) * 6; }},
  };
  return cases;
}

std::vector<OpCase> differentiable_cases() {
  std::vector<OpCase> cases;
  for (const OpEntry& entry : op_table())
    if (entry.gradient == Gradient::passes)
      for (OpCase one : entry.cases) {
        one.name = std::string(entry.name) + ", " + one.name;
        cases.push_back(std::move(one));
      }
  cases.insert(cases.end(), composites().begin(), composites().end());
  return cases;
}

}  // namespace etude::testing
