#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "etude/execution/eager.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// A program writes an output over an input only if it reads the input element by element, as it writes the output.

using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;
constexpr std::int64_t rows = 4096, columns = 16;

/// A step on inputs and a variable of shape [rows, columns].
using Step = std::function<Value(Values inputs, const Variable& variable)>;

/// Compares a compiled step with the same step computed op by op, to the bit.
void compare(const Step& step) {
  const Tensor x = samples::waves({rows, columns}), initial = samples::waves({rows, columns}, 0.25);
  const Variable compiled_variable("w", initial), eager_variable("w", initial);
  Compiled compiled(std::span(&x, 1),
                    [&](Graph&, Values inputs) { return Compiled::Outcome{{step(inputs, compiled_variable)}, {}}; });
  compiled.run({x});
  Graph graph;
  Eager eager(graph, default_device(), {x});
  const Trace trace(graph);
  const Value input = graph.input(x.shape(), x.dtype());
  const Value result = step(std::span(&input, 1), eager_variable);
  CHECK(same_bits(compiled.plan().result(0), eager.value(result.id())));
  eager.commit();
  CHECK(same_bits(compiled_variable.value(), eager_variable.value()));
}

/// One number for each row, for all its elements.
Value spread(Value of_rows) { return ops::broadcast_to(ops::reshape(of_rows, {rows, 1}), {rows, columns}); }

}  // namespace

TEST_CASE("the first part of a Value is cast to a wider dtype without being overwritten", "[execution]") {
  const auto part = [](Value whole, std::int64_t parts, DType dtype) {
    const Value flat = ops::reshape(whole, {rows * columns});
    return ops::cast(ops::slice(flat, 0, 0, rows * columns / parts), dtype) + 1;
  };
  compare([&](Values x, const Variable&) { return part(ops::exp(x[0]), 2, DType::float64); });
  compare(
      [&](Values x, const Variable&) { return part(ops::exp(ops::cast(x[0], DType::float16)), 2, DType::float32); });
  compare([&](Values x, const Variable&) { return part(ops::greater(ops::exp(x[0]), x[0] + 1.5), 4, DType::float32); });
}

TEST_CASE("rows are multiplied by numbers of the first rows, which are not overwritten before they are read",
          "[execution]") {
  const auto scaled = [](Value all, Value x) {
    const Value first = ops::reshape(ops::slice(all, 0, 0, rows / columns), {rows});
    return all * spread(ops::sum(x, {-1}) * first);
  };
  compare([&](Values x, const Variable&) { return scaled(ops::exp(x[0]), x[0]); });
  compare([&](Values x, const Variable& variable) {
    Graph& graph = Graph::current();
    graph.assign(variable, scaled(graph.read(variable), x[0]));
    return x[0] * 2;
  });
}
