#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "attention_samples.hpp"
#include "etude/execution/explain_passes.hpp"
#include "etude/execution/find_attention.hpp"
#include "etude/execution/find_dataflow.hpp"
#include "etude/execution/form_groups.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/layers/layers.hpp"
#include "support.hpp"

// The pass that finds attention in a graph, on graphs with and without it.

using namespace etude;
using namespace etude::samples;
using namespace etude::testing;

namespace {

/// A device that reports support of attention. Plans for it are not run.
struct Attending : Cpu {
  bool multiplies_halves() const override { return true; }
  bool attends(const instruction::AttentionShape& shape) const override { return shape.depth <= most_depth; }
  AttentionPatterns attention_in(const Graph& graph, const Wanted& wanted) const override {
    return find_attention(graph, wanted, *this);
  }
  std::int64_t most_depth = 8;
};

/// A graph with the operands of attention.
struct Traced {
  explicit Traced(const Heads& heads = {}, DType dtype = DType::float32) {
    for (const Shape& shape : heads.shapes()) x.push_back(graph.input(shape, dtype));
  }
  AttentionPatterns patterns(const std::vector<Value>& results) const {
    Wanted wanted;
    for (const Value& result : results)
      if (result) wanted.results.push_back(result.id());
    return find_attention(graph, wanted, device);
  }
  std::size_t count(const std::vector<Value>& results) const { return patterns(results).all().size(); }
  std::vector<Value> gradients_of(Value output) const {
    return gradients(ops::sum(ops::square(ops::cast(output, DType::float32))), x);
  }

  Attending device;
  Graph graph{Shard{}, true};
  Trace trace{graph};
  std::vector<Value> x;
};

/// The names of a plan's instructions.
std::string names_of(const Lowered& lowered) {
  std::string names;
  for (const Instruction& one : lowered.instructions) names += std::string(name_of(one)) + ' ';
  return names;
}

}  // namespace

TEST_CASE("attention: a softmax of scaled and masked scores, times values, is one pattern", "[execution][attention]") {
  Traced traced;
  const Value mask = traced.graph.input({5, 7}, DType::boolean);
  const Mixed attended = attend(traced.x[0], traced.x[1], traced.x[2], 0.5, mask);
  const AttentionPatterns patterns = traced.patterns({attended.output});
  REQUIRE(patterns.all().size() == 1);
  const AttentionPattern& found = patterns.all()[0];
  CHECK(found.weights == attended.weights.id());
  CHECK(found.mask == mask.id());
  CHECK(found.scale == 0.5);
  CHECK(found.absent == -1e9);
  CHECK(found.d_output == -1);
  CHECK(traced.graph.node(found.query).inputs[0] == traced.x[0].id());
  CHECK(traced.graph.node(found.key).inputs[0] == traced.x[1].id());
  CHECK(traced.graph.node(found.value).inputs[0] == traced.x[2].id());
  CHECK(traced.graph.node(attended.output.id()).inputs[0] == found.output);
}

TEST_CASE("attention: gradients are part of the pattern, those that are computed", "[execution][attention]") {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64})
    for (const double scale : {1.0, 0.5})
      for (int wanted = 1; wanted < 8; ++wanted) {
        Traced traced({}, dtype);
        const Value output = attend(traced.x[0], traced.x[1], traced.x[2], scale).output;
        const std::vector<Value> all = traced.gradients_of(output);
        std::vector<Value> results;
        for (std::size_t i = 0; i < 3; ++i)
          if (wanted >> i & 1) results.push_back(all[i]);
        INFO(dtype << ", scale " << scale << ", gradients " << wanted);
        const AttentionPatterns patterns = traced.patterns(results);
        REQUIRE(patterns.all().size() == 1);
        const AttentionPattern& found = patterns.all()[0];
        CHECK((found.d_query >= 0) == ((wanted & 1) != 0));
        CHECK((found.d_key >= 0) == ((wanted & 2) != 0));
        CHECK((found.d_value >= 0) == ((wanted & 4) != 0));
        CHECK(found.d_output >= 0);
      }
}

TEST_CASE("attention: the nodes in between are never computed, and have no other readers", "[execution][attention]") {
  Traced traced;
  const Mixed attended = attend(traced.x[0], traced.x[1], traced.x[2], 0.5);
  const std::vector<Value> d = traced.gradients_of(attended.output);
  const Wanted wanted{.results = {attended.output.id(), d[0].id(), d[1].id(), d[2].id()}};
  const Dataflow flow = find_dataflow(traced.graph, wanted, find_attention(traced.graph, wanted, traced.device));
  for (NodeId id = 0; id < flow.count(); ++id) {
    const Node& node = traced.graph.node(id);
    const bool is_square = node.shape.rank() == 4 && node.shape[-1] == 7 && node.shape[-2] == 5;
    if (is_square && id != attended.weights.id()) CHECK(flow.phase[id] == Phase::never);
  }
  CHECK(names_of(compile(traced.graph, wanted, traced.device)) == "Attention Elementwise AttentionGradient ");
}

TEST_CASE("attention: the rows' statistics need memory only for gradients", "[execution][attention]") {
  Traced traced;
  const Mixed attended = attend(traced.x[0], traced.x[1], traced.x[2]);
  const std::vector<Value> d = traced.gradients_of(attended.output);
  const auto statistics = [&](const Wanted& wanted) {
    const Lowered lowered = compile(traced.graph, wanted, traced.device);
    return std::get<instruction::Attention>(lowered.instructions.front()).statistics;
  };
  CHECK(statistics({.results = {attended.output.id()}}).space == -1);
  CHECK(statistics({.results = {d[1].id()}}).space == 0);
  CHECK(statistics({.results = {d[1].id()}}).dtype == DType::float32);
}

TEST_CASE("attention: scores and weights with other readers are computed as before", "[execution][attention]") {
  Traced traced;
  const Mixed attended = attend(traced.x[0], traced.x[1], traced.x[2], 0.5);
  const Value scores(traced.graph, traced.graph.node(attended.weights.id()).inputs[0]);
  const Value flat = ops::reshape(attended.weights, {-1});
  CHECK(traced.count({attended.output}) == 1);
  CHECK(traced.count({attended.output, attended.weights}) == 0);
  CHECK(traced.count({attended.output, flat}) == 0);
  CHECK(traced.count({attended.output, ops::tanh(scores)}) == 0);
  CHECK(traced.count({attended.output, ops::matmul(attended.weights, by_heads(traced.x[2]) * 2)}) == 0);
  const Variable kept("weights", Tensor({2, 3, 5, 7}), false);
  traced.graph.assign(kept, attended.weights);
  CHECK(traced.count({attended.output}) == 0);
}

TEST_CASE("attention: gradients with respect to the weights are computed as before", "[execution][attention]") {
  Traced traced;
  const Mixed attended = attend(traced.x[0], traced.x[1], traced.x[2], 0.5);
  const Value target = ops::sum(ops::square(attended.output)) + ops::sum(ops::square(attended.weights));
  CHECK(traced.count(gradients(target, traced.x)) == 0);
  // Gradients of gradients read the weights too.
  const Value first = gradients(ops::sum(ops::square(attended.output)), traced.x)[0];
  CHECK(traced.count({first}) == 1);
  CHECK(traced.count({gradients(ops::sum(ops::square(first)), traced.x)[1]}) == 0);
}

TEST_CASE("attention: other graphs around a softmax are not matched", "[execution][attention]") {
  Traced traced({.batch = 2, .queries = 7, .keys = 7, .heads = 1, .depth = 7, .width = 7});
  const Value q = by_heads(traced.x[0]), k = by_heads(traced.x[1]), v = by_heads(traced.x[2]);
  const auto count = [&](Value scores) { return traced.count({ops::matmul(ops::softmax(scores), v)}); };
  CHECK(count(ops::matmul(q, k, false, true)) == 1);
  CHECK(count(ops::matmul(q, k)) == 0);
  CHECK(count(ops::tanh(ops::matmul(q, k, false, true))) == 0);
  CHECK(count(ops::matmul(q, k, false, true) + k) == 0);
  CHECK(count(ops::matmul(q, k, false, true) * q) == 0);
  CHECK(count(q) == 0);
  const Value weights = ops::softmax(ops::matmul(q, k, false, true));
  CHECK(traced.count({ops::matmul(v, weights)}) == 0);
  CHECK(traced.count({ops::matmul(weights, weights)}) == 0);
  CHECK(traced.count({ops::matmul(weights, v, true, false)}) == 0);
  CHECK(traced.count({ops::matmul(ops::dropout(weights, 0.5, 1, 2, traced.graph.input({}, DType::int32)), v)}) == 0);
}

TEST_CASE("attention: only shapes that the device attends to are patterns", "[execution][attention]") {
  Traced traced;
  const Value output = attend(traced.x[0], traced.x[1], traced.x[2]).output;
  traced.device.most_depth = 3;
  CHECK(traced.count({output}) == 0);
  const Wanted wanted{.results = {output.id()}};
  CHECK(find_attention(traced.graph, wanted, cpu_device()).all().empty());
  CHECK(names_of(compile(traced.graph, wanted, cpu_device())) == "Gemm Gemm ");
}

TEST_CASE("attention: MultiHeadAttention is a pattern, unless its scores are requested or dropout applies",
          "[execution][attention][layers]") {
  struct Use {
    const char* name;
    double dropout;
    bool masked, training, keeps_scores;
    std::size_t patterns;
  };
  for (const Use& use : {Use{"alone", 0, false, true, false, 1}, Use{"masked", 0, true, true, false, 1},
                         Use{"dropout, predicting", 0.5, false, false, false, 1},
                         Use{"dropout, training", 0.5, false, true, false, 0}, Use{"scores", 0, false, true, true, 0}})
    for (const char* dtype : {"float32", "mixed_float16", "mixed_bfloat16"}) {
      INFO(use.name << ", " << dtype);
      const auto layer =
          layers::multi_head_attention({.num_heads = 2, .key_dim = 3, .dropout = use.dropout, .dtype = dtype});
      Traced traced;
      const Value x = traced.graph.input({2, 5, 6}, DType::float32);
      const Value steps = traced.graph.input({2, 5}, DType::boolean);
      const Attended attended = layer->attend({.query = x,
                                               .value = use.masked ? x.with_mask(steps) : x,
                                               .use_causal_mask = use.masked,
                                               .training = use.training});
      std::vector<Value> results =
          gradients(ops::sum(ops::square(ops::cast(attended.output, DType::float32))), std::vector{x});
      if (use.keeps_scores) results.push_back(attended.scores);
      CHECK(traced.count(results) == use.patterns);
    }
}

TEST_CASE("explain_passes shows attention", "[execution][attention]") {
  using Catch::Matchers::ContainsSubstring;
  Traced traced;
  const Value output = attend(traced.x[0], traced.x[1], traced.x[2]).output;
  const std::vector<Value> d = traced.gradients_of(output);
  const Wanted wanted{.results = {output.id(), d[0].id(), d[1].id(), d[2].id()}};
  const std::string text = explain_passes(traced.graph, wanted, traced.device);
  CHECK_THAT(text, ContainsSubstring("attention\n  %9 of %4 %5 %8, gradients %28 %29 %20 of %18\n"));
  CHECK_THAT(explain_passes(traced.graph, wanted, cpu_device()), ContainsSubstring("attention nothing\n"));
}
