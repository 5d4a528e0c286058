#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <sstream>

#include "etude/execution/eager.hpp"
#include "random_step.hpp"
#include "training_samples.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

/// The difference between a compiled step and the same step computed op by op; empty if there is none.
class Comparison {
 public:
  Comparison(std::uint64_t seed, int ops, Device& device) : step_(seed, ops), device_(device) {}

  std::string run(int batches) {
    const std::vector<Variable> compiled_variables = step_.variables(), eager_variables = step_.variables();
    std::vector<Tensor> batch = step_.batch();
    Compiled compiled(
        batch,
        [&](Graph& graph, std::span<const Value> inputs) {
          auto outcome = step_.trace(graph, inputs, compiled_variables);
          listing_ = listing(graph);
          return outcome;
        },
        device_);
    for (int i = 0; i < batches; ++i, batch = step_.batch()) {
      where_ = "batch " + std::to_string(i) + ", ";
      poison(compiled.arena());
      std::vector<Tensor> before;
      for (const Tensor& tensor : batch) before.push_back(tensor.clone());
      compiled.run(batch);
      for (std::size_t j = 0; j < batch.size(); ++j) expect(batch[j], before[j], "input", j);
      compare(compiled.plan(), batch, eager_variables);
      for (std::size_t j = 0; j < eager_variables.size(); ++j)
        expect(compiled_variables[j].value(), eager_variables[j].value(), "variable", j);
      if (!report_.empty()) return report_ + listing_;
    }
    return {};
  }

 private:
  /// No step may read bytes of an earlier step in the arena: they are set to NaN.
  static void poison(const Arena& arena) {
    if (arena.bytes()) std::memset(arena.address(), 0xFF, arena.bytes());
  }

  void compare(Plan& plan, const std::vector<Tensor>& batch, const std::vector<Variable>& variables) {
    Graph graph;
    Eager eager(graph, device_, batch);
    Trace trace(graph);
    std::vector<Value> inputs;
    for (const Tensor& tensor : batch) inputs.push_back(graph.input(tensor.shape(), tensor.dtype()));
    const auto [results, logs] = step_.trace(graph, inputs, variables);
    for (std::size_t i = 0; i < results.size(); ++i) expect(plan.result(i), eager.value(results[i].id()), "result", i);
    eager.commit();
    plan.run_logs();
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const Tensor wanted = eager.value(logs[i].id()).astype(DType::float64).reshape({});
      expect(Tensor::from(Shape{}, {plan.log(i)}), wanted, "log", i);
    }
  }

  void expect(const Tensor& got, const Tensor& want, const char* what, std::size_t index) {
    if (same_bits(got, want)) return;
    const std::string how = difference(got, want);
    report_ += where_ + what + ' ' + std::to_string(index) + " of shape " + want.shape().to_string() + ": " +
               (how.empty() ? "same numbers, other bits" : how) + '\n';
  }

  RandomStep step_;
  Device& device_;
  std::string where_, report_, listing_;
};

/// The report of the shortest prefix of the step with the difference.
std::string shortest_report(std::uint64_t seed, int ops, Device& device) {
  for (int fewer = 1; fewer < ops; ++fewer)
    if (const std::string report = Comparison(seed, fewer, device).run(2); !report.empty())
      return "seed " + std::to_string(seed) + ", " + std::to_string(fewer) + " ops\n" + report;
  return "seed " + std::to_string(seed) + ", " + std::to_string(ops) + " ops\n" + Comparison(seed, ops, device).run(2);
}

void compare_steps(std::uint64_t first, std::uint64_t last, int ops, Device& device = default_device()) {
  for (std::uint64_t seed = first; seed < last; ++seed) {
    bool same = false;
    std::string thrown;
    try {
      same = Comparison(seed, ops, device).run(2).empty();
    } catch (const std::exception& error) {
      thrown = error.what();
    }
    INFO("seed " << seed << ", " << ops << " ops: " << thrown);
    REQUIRE(thrown.empty());
    if (!same) FAIL(shortest_report(seed, ops, device));
  }
}

}  // namespace

TEST_CASE("a fused plan computes the same bits as its ops one by one: short steps", "[execution][fusion]") {
  compare_steps(0, 2000, 6);
}

TEST_CASE("a fused plan computes the same bits as its ops one by one: steps of a layer's length",
          "[execution][fusion]") {
  compare_steps(1000, 1300, 25);
}

TEST_CASE("a fused plan computes the same bits as its ops one by one: long steps", "[execution][fusion]") {
  compare_steps(2000, 2060, 120);
}

TEST_CASE("a fused plan computes the same bits as its ops one by one: on three threads", "[execution][fusion]") {
  const Threads threads(3);
  compare_steps(3000, 3100, 25);
}

TEST_CASE("a fused plan computes the same bits as its ops one by one: on every instruction set",
          "[execution][fusion]") {
  for (Cpu& device : instruction_sets()) {
    INFO(device.isa());
    compare_steps(4000, 4100, 25, device);
  }
}

TEST_CASE("a sum of 600 tensors, and its product with each, are programs of at most 64 operands",
          "[execution][fusion]") {
  std::vector<Tensor> inputs;
  std::vector<float> sum(7);
  for (int i = 0; i < 600; ++i) {
    inputs.push_back(samples::waves({7}, 0.1 * i));
    for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += inputs.back().data<float>()[at];
  }
  Compiled compiled(inputs, [](Graph&, std::span<const Value> values) {
    Value total = values[0];
    for (const Value& value : values.subspan(1)) total = total + value;
    std::vector<Value> results;
    for (const Value& value : values) results.push_back(value * total);
    return Compiled::Outcome{results, {}};
  });
  std::size_t most = 0;
  for (const Instruction& one : compiled.plan().instructions())
    if (const auto* elementwise = std::get_if<instruction::Elementwise>(&one))
      most = std::max(most, elementwise->program.inputs.size() + elementwise->program.outputs.size());
  CHECK(most > 32);
  CHECK(most <= 64);
  compiled.run(inputs);
  for (std::size_t i : {0u, 300u, 599u}) {
    std::vector<float> expected = sum;
    for (std::size_t at = 0; at < sum.size(); ++at) expected[at] *= inputs[i].data<float>()[at];
    CHECK(same_bits(compiled.plan().result(i), Tensor::from(Shape{7}, expected)));
  }
}

// Hidden: takes some minutes. Run it after changes of fusion or lowering.
TEST_CASE("a fused plan computes the same bits as its ops one by one: thousands of steps", "[.soak]") {
  compare_steps(10000, 20000, 8);
  compare_steps(20000, 26000, 30);
  compare_steps(30000, 30600, 150);
}
