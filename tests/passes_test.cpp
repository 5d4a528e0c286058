#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/execution/explain_passes.hpp"
#include "etude/execution/find_dataflow.hpp"
#include "etude/execution/form_groups.hpp"
#include "etude/execution/place.hpp"
#include "etude/kernels/cpu/cpu_device.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

// Each pass of compile() separately, on graphs of a few nodes.

using namespace etude;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A graph that records a trace during its lifetime.
struct Traced {
  Graph graph;
  Trace trace{graph};

  Value input(const Shape& shape) { return graph.input(shape, DType::float32); }
  Dataflow flow(const Wanted& wanted) const { return find_dataflow(graph, wanted); }
  Grouping groups(const Wanted& wanted) const { return form_groups(flow(wanted), cpu_device()); }
  Fused fused(const Wanted& wanted) const { return recompute(flow(wanted), groups(wanted), wanted, cpu_device()); }
  Scheduled scheduled(const Wanted& wanted) const { return schedule(graph, wanted, cpu_device()); }
};

/// The placement of a graph without loops.
Placement placed(const Scheduled& scheduled) { return place(scheduled, cpu_device(), {}, {}); }

Variable variable(const Shape& shape) { return Variable("v", Tensor(shape, DType::float32)); }

bool overlap(const Block& a, const Block& b) {
  const auto end = [](const Block& block) { return block.offset + static_cast<std::int64_t>(block.bytes); };
  return a.offset < end(b) && b.offset < end(a);
}

}  // namespace

TEST_CASE("dataflow: a node without readers is never computed", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({4}), unused = ops::exp(x), wanted = ops::log(x);
  const Dataflow flow = traced.flow({.results = {wanted.id()}});
  CHECK(flow.phase[unused.id()] == Phase::never);
  CHECK(flow.phase[wanted.id()] == Phase::step);
  CHECK(flow.in_memory[wanted.id()]);
}

TEST_CASE("dataflow: nodes that only logs need are computed with the logs, unless the step overwrites their operands",
          "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({4});
  const Value of_batch = ops::exp(x), of_step = ops::log(of_batch);
  const Dataflow flow = traced.flow({.results = {of_batch.id()}, .logs = {of_step.id()}});
  CHECK(flow.phase[of_batch.id()] == Phase::step);
  CHECK(flow.phase[of_step.id()] == Phase::logs);
  const Dataflow alone = traced.flow({.logs = {of_batch.id()}});
  CHECK(alone.phase[of_batch.id()] == Phase::step);
}

TEST_CASE("dataflow: a Reshape is a view of its operand", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({4, 2}), y = ops::exp(x), flat = ops::reshape(y, {8});
  const Dataflow flow = traced.flow({.results = {flat.id()}});
  CHECK(flow.base[flat.id()] == y.id());
  CHECK_FALSE(flow.is_base(flat.id()));
}

TEST_CASE("dataflow: a product is written in the order of the only Transpose that reads it", "[execution][passes]") {
  Traced traced;
  const Value a = traced.input({2, 3, 4}), b = traced.input({2, 4, 5});
  const Value product = ops::matmul(a, b), heads = ops::transpose(product, {1, 0, 2});
  const Dataflow flow = traced.flow({.results = {heads.id()}});
  CHECK(flow.written_as[product.id()] == heads.id());
  CHECK(flow.base[heads.id()] == product.id());
  const Dataflow both = traced.flow({.results = {heads.id(), product.id()}});
  CHECK(both.written_as[product.id()] == -1);
}

TEST_CASE("groups: a product, its bias and its activation are one group", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({4, 8}), kernel = traced.input({8, 5}), bias = traced.input({5});
  const Value product = ops::matmul(x, kernel), y = ops::relu(product + bias);
  const Grouping grouping = traced.groups({.results = {y.id()}});
  const Group& group = grouping.groups[grouping.group_of[y.id()]];
  CHECK(group.anchor == product.id());
  CHECK(group.members.size() == 2);
  CHECK(grouping.group_of[product.id()] == grouping.group_of[y.id()]);
}

TEST_CASE("groups: two products are never one group", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({4, 4}), first = ops::matmul(x, x), second = ops::matmul(x, ops::exp(x));
  const Value sum = first + second;
  const Grouping grouping = traced.groups({.results = {sum.id()}});
  CHECK(grouping.group_of[first.id()] != grouping.group_of[second.id()]);
  const int own = grouping.group_of[sum.id()];
  CHECK((own == grouping.group_of[first.id()]) != (own == grouping.group_of[second.id()]));
}

TEST_CASE("groups: nodes with a product between them are not one group", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({4, 4}), before = ops::exp(x), product = ops::matmul(before, before);
  const Value after = before + ops::tanh(product);
  const Grouping grouping = traced.groups({.results = {after.id()}});
  CHECK(grouping.group_of[before.id()] != grouping.group_of[after.id()]);
}

TEST_CASE("groups: a long chain is divided, so that no program has more than 256 nodes", "[execution][passes]") {
  Traced traced;
  Value x = traced.input({8});
  for (int i = 0; i < 1000; ++i) x = ops::tanh(x);
  const Grouping grouping = traced.groups({{x.id()}, {}});
  std::size_t nodes = 0, longest = 0;
  for (const Group& group : grouping.groups) {
    nodes += group.members.size();
    longest = std::max(longest, group.members.size());
  }
  CHECK(nodes == 1000);
  CHECK(longest == 256);
}

TEST_CASE("groups: a sum along short rows is part of a program", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({4, 10}), y = ops::exp(x), row_sum = ops::sum(y, {1});
  const Grouping grouping = traced.groups({.results = {row_sum.id()}});
  const Group& group = grouping.groups[grouping.group_of[row_sum.id()]];
  CHECK(group.row == 10);
  CHECK(group.members.size() == 2);
}

TEST_CASE("recompute: a cheap node of stored operands is recomputed, an expensive one is stored",
          "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({64, 64});
  const Value cheap = x + x, expensive = ops::exp(x);
  const Value product = ops::matmul(ops::tanh(cheap), ops::tanh(expensive));
  const Value y = product * cheap * expensive;
  const Fused fused = traced.fused({.results = {y.id()}});
  CHECK(fused.recomputed[cheap.id()]);
  CHECK_FALSE(fused.recomputed[expensive.id()]);
  CHECK(fused.escapes[expensive.id()]);
}

TEST_CASE("schedule: a group follows the groups that it reads", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({8, 8}), a = ops::matmul(x, x), b = ops::matmul(ops::transpose(a, {1, 0}), x);
  const Scheduled scheduled = traced.scheduled({.results = {b.id(), a.id()}});
  const Schedule& schedule = scheduled.schedule;
  CHECK(schedule.position[scheduled.group_of(a.id())] < schedule.position[scheduled.group_of(b.id())]);
}

TEST_CASE("schedule: equal updates of two variables are one instruction, different ones are two",
          "[execution][passes]") {
  const auto instructions = [](double other_rate) {
    Traced traced;
    const Variable a = variable({100}), b = variable({50});
    const Value x = traced.input({100}), y = traced.input({50});
    const auto update = [&](const Variable& v, Value gradient, double rate) {
      traced.graph.assign(
          v, traced.graph.read(v) - gradient * traced.graph.constant(rate, DType::float32, gradient.shape()));
    };
    update(a, x, 0.5);
    update(b, y, other_rate);
    return traced.scheduled({}).schedule.end();
  };
  CHECK(instructions(0.5) == 1);
  CHECK(instructions(0.25) == 2);
}

TEST_CASE("placement: an update overwrites the variable, unless a later instruction reads its old value",
          "[execution][passes]") {
  Traced traced;
  const Variable v = variable({16});
  const Value x = traced.input({16}), old = traced.graph.read(v);
  SECTION("nothing reads the old value") {
    traced.graph.assign(v, old + x);
    const Scheduled scheduled = traced.scheduled({});
    CHECK(placed(scheduled).in_variable[0]);
  }
  SECTION("the old value is a result") {
    traced.graph.assign(v, old + x);
    const Scheduled scheduled = traced.scheduled({.results = {old.id()}});
    const Placement placement = placed(scheduled);
    CHECK(placement.saved.contains(old.id()));
  }
}

TEST_CASE("placement: blocks in use at the same time do not overlap", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({32, 32});
  Value y = ops::matmul(x, x);
  std::vector<NodeId> results;
  for (int i = 0; i < 6; ++i) {
    y = ops::matmul(y, ops::transpose(y, {1, 0}));
    if (i % 2) results.push_back(y.id());
  }
  const Scheduled scheduled = traced.scheduled({.results = results});
  const Placement placement = placed(scheduled);
  REQUIRE(placement.blocks.size() > 4);
  for (const Block& a : placement.blocks)
    for (const Block& b : placement.blocks)
      if (&a != &b && a.same_as < 0 && b.same_as < 0 && a.bytes && b.bytes && a.first <= b.last && b.first <= a.last)
        CHECK_FALSE(overlap(a, b));
}

TEST_CASE("placement: a program's output reuses the block of an input without later readers", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({32, 32}), product = ops::matmul(x, x), y = ops::relu(product);
  const Scheduled scheduled = traced.scheduled({.results = {y.id()}});
  const Placement placement = placed(scheduled);
  const int block = placement.places.at(y.id()).block;
  CHECK(placement.blocks[block].same_as == placement.places.at(product.id()).block);
  CHECK(placement.operand(y.id()).offset == placement.operand(product.id()).offset);
}

TEST_CASE("emission: instructions are in the order of the schedule", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({8, 8}), y = ops::argmax(ops::relu(ops::matmul(x, x)));
  const Lowered lowered = compile(traced.graph, {.results = {y.id()}}, cpu_device());
  REQUIRE(lowered.instructions.size() == 2);
  CHECK(name_of(lowered.instructions[0]) == "Gemm");
  CHECK(name_of(lowered.instructions[1]) == "ArgMax");
  CHECK(std::get<instruction::Gemm>(lowered.instructions[0]).epilogue.has_value());
}

TEST_CASE("explain_passes shows the result of each pass", "[execution][passes]") {
  Traced traced;
  const Value x = traced.input({8, 8}), y = ops::relu(ops::matmul(x, x));
  const std::string text = explain_passes(traced.graph, {.results = {y.id()}}, cpu_device());
  CHECK_THAT(text, ContainsSubstring("%1 = MatMul %0 %0  [8, 8], step, needs %0 %0"));
  CHECK_THAT(text, ContainsSubstring("#1 of 64: anchor %1 %2"));
  CHECK_THAT(text, ContainsSubstring("recomputed nothing"));
  CHECK_THAT(text, ContainsSubstring("schedule\n  0: #1"));
  CHECK_THAT(text, ContainsSubstring("%2 in &1"));
}
