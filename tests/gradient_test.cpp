#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/ops/arithmetic.hpp"
#include "etude/ops/arrangement.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/products.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/ops/sorting.hpp"
#include "etude/ops/statistics.hpp"
#include "op_cases.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;

constexpr Tolerance close{1e-5, 1e-3};
/// 1e-6 as a power of two, so that a step survives a cast to float32.
constexpr double step = 0x1p-20;

std::vector<Value> floats(Values x) {
  std::vector<Value> result;
  for (const Value& value : x)
    if (is_floating(value.dtype())) result.push_back(value);
  return result;
}

/// y as one number: a random weighted sum of its elements.
Value weighted(Value y, std::uint32_t stream = 0) {
  const Value weights = ops::uniform(y.shape(), DType::float64, 5, stream, Graph::current().constant(1, DType::int32));
  return ops::sum(ops::cast(y, DType::float64) * (weights + 0.5));
}

/// The gradient of a scalar function with respect to each float input; zeros without a gradient.
std::vector<Value> gradients_of(const Function& scalar, Values x) {
  const std::vector<Value> sources = floats(x);
  std::vector<Value> result = gradients(scalar(x), sources);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!result[i]) result[i] = Graph::current().constant(0, sources[i].dtype(), sources[i].shape());
  return result;
}

/// The same by central differences.
std::vector<double> differences_of(const Function& scalar, const std::vector<Tensor>& at) {
  Compiled compiled(at, [&](Graph&, Values x) { return Compiled::Outcome{{scalar(x)}, {}}; });
  std::vector<Tensor> moved;
  for (const Tensor& tensor : at) moved.push_back(tensor.clone());
  std::vector<double> result;
  for (Tensor& tensor : moved) {
    if (!is_floating(tensor.dtype())) continue;
    for (double& x : tensor.data<double>()) {
      const double here = x;
      const auto value_at = [&](double there) {
        x = there;
        compiled.run(moved);
        return compiled.plan().result(0).item();
      };
      const double above = value_at(here + step), below = value_at(here - step);
      x = here;
      result.push_back((above - below) / (2 * step));
    }
  }
  return result;
}

/// The disagreement between gradients() and differences of a scalar function; empty if there is none.
std::string disagreement(const Function& scalar, const std::vector<Tensor>& at) {
  std::vector<double> got;
  for (const Tensor& gradient : evaluate(default_device(), at, [&](Values x) { return gradients_of(scalar, x); }))
    for (const double number : numbers(gradient)) got.push_back(number);
  return difference(got, differences_of(scalar, at), close);
}

/// The gradient of `function` as a function with one number as result.
Function derivative(const Function& function) {
  return [=](Values x) {
    Value total = Graph::current().constant(0, DType::float64);
    std::uint32_t stream = 1;
    for (const Value& gradient : gradients_of(function, x)) total = total + weighted(gradient, stream++);
    return total;
  };
}

Function as_number(const Function& function) {
  return [=](Values x) { return weighted(function(x)); };
}

/// The difference between the gradient of a sum of `function` at `points` and `want`.
std::string off(const std::vector<double>& points, const Function& function, const std::vector<double>& want) {
  const Tensor x = Tensor::from({static_cast<std::int64_t>(points.size())}, points);
  const Function summed = [&](Values v) { return ops::sum(function(v)); };
  const Tensor got = run({x}, [&](Values v) { return gradients_of(summed, v)[0]; });
  return difference(numbers(got), want, {1e-14, 1e-14});
}

}  // namespace

TEST_CASE("every op has cases", "[graph][gradient]") {
  REQUIRE(op_table().size() == std::variant_size_v<OpVariant>);
  for (const OpEntry& entry : op_table()) {
    INFO(entry.name);
    CHECK_FALSE(entry.cases.empty());
  }
}

TEST_CASE("gradients of concatenations are added, also with an empty operand", "[graph][gradient]") {
  const auto pair = [](std::vector<double> of) { return Tensor::from({std::ssize(of)}, of); };
  const Tensor x = pair({1, 1, 1, 1}), none = pair({}), all = pair({1, 2, 3, 4}), last = pair({10, 20});
  const Tensor got = run({x, none, all, last}, [&](Values v) {
    const Value zeros = Graph::current().constant(0, DType::float64, {2});
    const Function summed = [&](Values of) {
      return ops::sum(of[0] * ops::concatenate({v[1], v[2]}, 0)) + ops::sum(of[0] * ops::concatenate({zeros, v[3]}, 0));
    };
    return gradients_of(summed, v)[0];
  });
  CHECK(numbers(got) == std::vector<double>{1, 2, 13, 24});
}

TEST_CASE("a gradient matches finite differences", "[graph][gradient]") {
  for (const OpCase& one : differentiable_cases())
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      INFO(one.name);
      CHECK(disagreement(as_number(one.function), one.draw(seed)) == "");
    }
}

TEST_CASE("a gradient's gradient matches finite differences of the gradient", "[graph][gradient]") {
  for (const OpCase& one : differentiable_cases()) {
    INFO(one.name);
    CHECK(disagreement(derivative(as_number(one.function)), one.draw(0)) == "");
  }
}

TEST_CASE("third derivatives match finite differences", "[graph][gradient]") {
  for (const OpCase& one : composites()) {
    INFO(one.name);
    CHECK(disagreement(derivative(derivative(as_number(one.function))), one.draw(0)) == "");
  }
}

TEST_CASE("gradients through a composed op equal those through its ops", "[graph][gradient]") {
  for (const OpCase& one : differentiable_cases()) {
    if (one.name.starts_with("Cast, ")) continue;  // float32 is too coarse for such steps, except at eighths
    const auto within = [&](Values x) {
      std::vector<Value> operands(x.begin(), x.end());
      // Close to the original points: away from kinks, and in the function's domain.
      for (Value& operand : operands)
        if (is_floating(operand.dtype())) operand = operand + 0.01 * ops::sin(3 * operand);
      return ops::tanh(one.function(operands));
    };
    INFO(one.name);
    CHECK(disagreement(as_number(within), one.draw(1)) == "");
  }
}

TEST_CASE("gradients of ops that other ops compute match finite differences", "[graph][gradient]") {
  const std::pair<const char*, Function> functions[] = {
      {"reciprocal", [](Values x) { return ops::reciprocal(x[0]); }},
      {"rsqrt", [](Values x) { return ops::rsqrt(x[0]); }},
      {"expm1", [](Values x) { return ops::expm1(x[0]); }},
      {"exp2", [](Values x) { return ops::exp2(x[0]); }},
      {"log2", [](Values x) { return ops::log2(x[0]); }},
      {"log10", [](Values x) { return ops::log10(x[0]); }},
      {"tan", [](Values x) { return ops::tan(x[0] * 0.5); }},
      {"arcsin", [](Values x) { return ops::arcsin(x[0] * 0.45); }},
      {"arccos", [](Values x) { return ops::arccos(x[0] * -0.45); }},
      {"arctan2", [](Values x) { return ops::arctan2(x[0] - 1, x[1] - 1.1); }},
      {"arcsinh", [](Values x) { return ops::arcsinh(x[0] - 1); }},
      {"arccosh", [](Values x) { return ops::arccosh(x[0] + 1); }},
      {"arctanh", [](Values x) { return ops::arctanh(x[0] * 0.45); }},
      {"sort", [](Values x) { return ops::sort(x[0], 0); }},
      {"top_k", [](Values x) { return ops::top_k(x[0], 2).first; }},
      {"quantile", [](Values x) { return ops::quantile(x[0], 0.3, {1}); }},
      {"sinh", [](Values x) { return ops::sinh(x[0]); }},
      {"cosh", [](Values x) { return ops::cosh(x[0]); }},
      {"mod", [](Values x) { return ops::mod(x[0], x[1]); }},
      {"logaddexp", [](Values x) { return ops::logaddexp(x[0], x[1]); }},
      {"logaddexp of equals", [](Values x) { return ops::logaddexp(x[0], x[0]); }},
      {"squared_difference", [](Values x) { return ops::squared_difference(x[0], x[1]); }},
      {"min", [](Values x) { return ops::min(x[0], {1}); }},
      {"prod", [](Values x) { return ops::prod(x[0], {0}); }},
      {"var", [](Values x) { return ops::var(x[0], {1}); }},
      {"std", [](Values x) { return ops::std(x[0]); }},
      {"logsumexp", [](Values x) { return ops::logsumexp(x[0], {0}); }},
      {"norm", [](Values x) { return ops::norm(x[0], {1}); }},
      {"normalize", [](Values x) { return ops::normalize(x[0]); }},
      {"diff", [](Values x) { return ops::diff(x[0]); }},
      {"stack", [](Values x) { return ops::stack({x[0], x[1]}, 1); }},
      {"pad", [](Values x) { return ops::pad(x[0], {1, 2}); }},
      {"flip", [](Values x) { return ops::flip(x[0]); }},
      {"roll", [](Values x) { return ops::roll(x[0], 2); }},
      {"repeat", [](Values x) { return ops::repeat(x[0], {1, 0, 2}, 0); }},
      {"tile", [](Values x) { return ops::tile(x[0], {2, 2}); }},
      {"swapaxes", [](Values x) { return ops::swapaxes(x[0], 0, 1); }},
      {"moveaxis", [](Values x) { return ops::moveaxis(x[0], 0, 1); }},
      {"take_along_axis", [](Values x) { return ops::take_along_axis(x[0], ops::full({2, 3}, 1, DType::int32), 0); }},
      {"tril", [](Values x) { return ops::tril(x[0]); }},
      {"triu", [](Values x) { return ops::triu(x[0], 1); }},
      {"dot", [](Values x) { return ops::dot(x[0], x[1]); }},
      {"vdot", [](Values x) { return ops::vdot(x[0], x[1]); }},
      {"inner", [](Values x) { return ops::inner(x[0], x[1]); }},
      {"outer", [](Values x) { return ops::outer(x[0], x[1]); }},
      {"tensordot", [](Values x) { return ops::tensordot(x[0], x[1], {2}); }}};
  Random random = draws(4);
  const std::vector<Tensor> at{random_tensor(random, {3, 3}, DType::float64, 0.3, 2),
                               random_tensor(random, {3, 3}, DType::float64, 0.3, 2)};
  for (const auto& [name, function] : functions) {
    INFO(name);
    CHECK(disagreement(as_number(function), at) == "");
  }
}

TEST_CASE("ops without a gradient give an empty Value", "[graph][gradient]") {
  for (const OpEntry& entry : op_table()) {
    if (entry.gradient == Gradient::passes) continue;
    for (const OpCase& one : entry.cases) {
      INFO(entry.name << ", " << one.name);
      const std::vector<Tensor> at = one.draw(0);
      Graph graph;
      const Trace trace(graph);
      std::vector<Value> x;
      for (const Tensor& tensor : at) x.push_back(graph.input(tensor.shape(), tensor.dtype()));
      std::vector<Value> sources = floats(x);
      sources.push_back(graph.input({2}, DType::float64));
      for (const Value& gradient : gradients(weighted(one.function(x)), sources)) CHECK_FALSE(gradient);

      bool moves = false;
      for (const double d : differences_of(as_number(one.function), at)) moves |= d != 0;
      CHECK(moves == (entry.gradient == Gradient::stopped));
    }
  }
}

TEST_CASE("integers have no gradient, and a cast to them passes none on", "[graph][gradient]") {
  for (const DType dtype : {DType::int32, DType::uint8, DType::boolean}) {
    Graph graph;
    const Trace trace(graph);
    const std::vector<Value> x{graph.input({3}, dtype), graph.input({3}, DType::float64)};
    const Value y = ops::cast(x[0], DType::float64) * ops::cast(ops::cast(x[1], dtype), DType::float64);
    for (const Value& gradient : gradients(ops::sum(y), x)) CHECK_FALSE(gradient);
  }
}

TEST_CASE("a gradient has the dtype and shape of its source", "[graph][gradient]") {
  for (const OpCase& one : differentiable_cases())
    for (const DType dtype : {DType::float32, DType::float64}) {
      INFO(one.name);
      Graph graph;
      const Trace trace(graph);
      std::vector<Value> x;
      for (const Tensor& tensor : one.draw(0, dtype)) x.push_back(graph.input(tensor.shape(), tensor.dtype()));
      const std::vector<Value> sources = floats(x);
      const std::vector<Value> dx = gradients(weighted(one.function(x)), sources);
      for (std::size_t i = 0; i < dx.size(); ++i) {
        if (!dx[i]) continue;
        CHECK(dx[i].shape() == sources[i].shape());
        CHECK(dx[i].dtype() == dtype);
      }
    }
}

TEST_CASE("gradients at kinks and at the ends of the number line are defined", "[graph][gradient]") {
  const auto power_of_two = [](Values x) { return ops::power(x[0], ops::scalar(2, x[0])); };
  const auto power_of_zero = [](Values x) { return ops::power(ops::scalar(0, x[0]), x[0]); };
  CHECK(off({0}, [](Values x) { return ops::relu(x[0]); }, {0}) == "");
  CHECK(off({0}, [](Values x) { return ops::absolute(x[0]); }, {0}) == "");
  CHECK(off({1, 3, 3}, [](Values x) { return ops::max(x[0]); }, {0, 0.5, 0.5}) == "");
  CHECK(off({0, 2, -3}, power_of_two, {0, 4, -6}) == "");
  CHECK(off({2, 3}, power_of_zero, {0, 0}) == "");
  CHECK(off({800, -800}, [](Values x) { return ops::softplus(x[0]); }, {1, 0}) == "");
  CHECK(off({800, -800}, [](Values x) { return ops::sigmoid(x[0]); }, {0, 0}) == "");
  CHECK(off({800, -800}, [](Values x) { return ops::tanh(x[0]); }, {0, 0}) == "");
}

TEST_CASE("a source that the target does not depend on has no gradient", "[graph][gradient]") {
  Graph graph;
  const Trace trace(graph);
  const Value x = graph.input({3}, DType::float64), y = graph.input({3}, DType::float64);
  const Value target = ops::sum(ops::exp(x));
  const Value later = ops::sin(x);
  const std::vector<Value> dx = gradients(target, std::vector{x, y, later});
  CHECK(dx[0]);
  CHECK_FALSE(dx[1]);
  CHECK_FALSE(dx[2]);
}

TEST_CASE("a target that is not a scalar is summed", "[graph][gradient]") {
  const Tensor x = tensor_of({2, 2}, DType::float64, {1, 2, 3, 4});
  const Function by_sum = [](Values v) { return gradients(ops::sum(ops::square(v[0])), v)[0]; };
  const Function by_itself = [](Values v) { return gradients(ops::square(v[0]), v)[0]; };
  CHECK(same_bits(run({x}, by_sum), run({x}, by_itself)));
  CHECK(numbers(run({x}, [](Values v) { return gradients(v[0], v)[0]; })) == std::vector<double>{1, 1, 1, 1});
}

TEST_CASE("a variable's gradient is that of the Value that the trace read", "[graph][gradient]") {
  const Variable variable("v", tensor_of({3}, DType::float64, {1, 2, 3}));
  const auto before = [&](Graph& graph, Values) {
    const Value target = ops::sum(ops::square(graph.read(variable)));
    return Compiled::Outcome{gradients(target, {variable}), {}};
  };
  Compiled read({}, before);
  read.run({});
  CHECK(numbers(read.plan().result(0)) == std::vector<double>{2, 4, 6});

  // The result of an assignment is another Value: the target is differentiated with respect to that.
  const auto after = [&](Graph& graph, Values) {
    graph.assign(variable, graph.read(variable) * 10);
    return Compiled::Outcome{gradients(ops::sum(ops::square(graph.read(variable))), {variable}), {}};
  };
  Compiled assigned({}, after);
  assigned.run({});
  CHECK(numbers(assigned.plan().result(0)) == std::vector<double>{20, 40, 60});
}

TEST_CASE("a target that is not a float is refused", "[graph][gradient]") {
  Graph graph;
  const Trace trace(graph);
  const Value x = graph.input({3}, DType::int32);
  CHECK(error_of([&] { gradients(x, std::vector{x}); }) ==
        "[gradients] a target of dtype int32 - expected a float - cast it.");
}
