#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <variant>

#include "etude/execution/compile.hpp"
#include "etude/execution/place.hpp"
#include "etude/kernels/cpu/cpu_device.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"

// How a plan divides its all-reduces into buckets that run concurrently with its other instructions.

using namespace etude;
using instruction::AllReduce;
using instruction::AwaitSums;

namespace {

/// Consecutive products, like a backward pass. Each is all-reduced, and its sum read at the end.
struct Backward {
  static constexpr std::int64_t bytes = 16 * 16 * 4;  // of a product
  Graph graph{{.replicas = 2, .rows = 16, .batch = 32}};
  Trace trace{graph};
  std::vector<Value> products, sums, read;

  /// If `late` is set, the first product is also read after the last one.
  explicit Backward(int count, bool late = false) {
    Value last = graph.input({16, 16}, DType::float32);
    for (int i = 0; i < count; ++i) products.push_back(last = ops::matmul(last, last));
    for (const Value& product : products) sums.push_back(ops::all_reduce(product));
    for (const Value& sum : sums) read.push_back(ops::argmax(sum));
    if (late) read.push_back(ops::argmax(ops::matmul(products.front(), last)));
  }
  Wanted wanted() const {
    Wanted wanted;
    for (const Value& value : read) wanted.results.push_back(value.id());
    return wanted;
  }
  Lowered compiled(const Buckets& buckets) const {
    return compile(graph, wanted(), cpu_device(), {.buckets = buckets});
  }
};

template <class I> std::vector<std::ptrdiff_t> positions_of(const Lowered& lowered) {
  std::vector<std::ptrdiff_t> found;
  for (auto one = lowered.instructions.begin(); one != lowered.instructions.end(); ++one)
    if (std::holds_alternative<I>(*one)) found.push_back(one - lowered.instructions.begin());
  return found;
}

template <class I> const I& at(const Lowered& lowered, std::ptrdiff_t position) {
  return std::get<I>(lowered.instructions[static_cast<std::size_t>(position)]);
}

/// The numbers of Values in the buckets, in the order of their starts.
std::vector<std::size_t> bucket_sizes(const Lowered& lowered) {
  std::vector<std::size_t> sizes;
  for (const std::ptrdiff_t start : positions_of<AllReduce>(lowered))
    sizes.push_back(at<AllReduce>(lowered, start).parts.size());
  return sizes;
}

}  // namespace

TEST_CASE("overlap: an all-reduce starts as soon as its Values are computed, and is awaited before a sum is read",
          "[execution][passes]") {
  const Lowered lowered = Backward(3).compiled({.bytes = 1});
  const std::vector starts = positions_of<AllReduce>(lowered), awaits = positions_of<AwaitSums>(lowered),
                    products = positions_of<instruction::Gemm>(lowered),
                    readers = positions_of<instruction::ArgMax>(lowered);
  REQUIRE(starts.size() == 3);
  REQUIRE(awaits.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(starts[i] == products[i] + 1);
    CHECK(awaits[i] == readers[i] - 1);
    CHECK(at<AllReduce>(lowered, starts[i]).number == static_cast<int>(i));
    CHECK(at<AwaitSums>(lowered, awaits[i]).number == static_cast<int>(i));
  }
}

TEST_CASE("overlap: a bucket is filled to its least size in the order of computation, and the last one has the rest",
          "[execution][passes]") {
  const Backward backward(5);
  CHECK(bucket_sizes(backward.compiled({.bytes = 1})) == std::vector<std::size_t>{1, 1, 1, 1, 1});
  CHECK(bucket_sizes(backward.compiled({.bytes = Backward::bytes + 1})) == std::vector<std::size_t>{2, 3});
  CHECK(bucket_sizes(backward.compiled({.bytes = 5 * Backward::bytes})) == std::vector<std::size_t>{5});
  const Lowered lowered = backward.compiled({.bytes = 2 * Backward::bytes});
  CHECK(lowered.buckets.all_reduces == std::vector<std::vector<int>>{{0, 1}, {2, 3, 4}});
}

TEST_CASE("overlap: without a least size all-reduces of one level are one instruction, without concurrent ones",
          "[execution][passes]") {
  const Lowered lowered = Backward(3).compiled({});
  CHECK(bucket_sizes(lowered) == std::vector<std::size_t>{3});
  CHECK(positions_of<AwaitSums>(lowered).empty());
  const std::ptrdiff_t sum = positions_of<AllReduce>(lowered).front();
  CHECK(at<AllReduce>(lowered, sum).number == -1);
  CHECK(sum == positions_of<instruction::Gemm>(lowered).back() + 1);
}

TEST_CASE("overlap: other replicas have the buckets of the first one, in its order", "[execution][passes]") {
  const Lowered lowered = Backward(4).compiled({.bytes = 1, .all_reduces = {{3}, {0, 2}, {1}}});
  CHECK(bucket_sizes(lowered) == std::vector<std::size_t>{1, 2, 1});
  CHECK(positions_of<AllReduce>(lowered).front() > positions_of<instruction::Gemm>(lowered).back());
}

TEST_CASE("overlap: an all-reduce of a sum starts after that sum, in a bucket of its own level",
          "[execution][passes]") {
  Graph graph({.replicas = 2, .rows = 16, .batch = 32});
  const Trace trace(graph);
  const Value x = graph.input({16, 16}, DType::float32), first = ops::all_reduce(ops::matmul(x, x)),
              second = ops::all_reduce(ops::exp(first)), read = ops::argmax(second);
  const Lowered lowered =
      compile(graph, {.results = {read.id()}}, cpu_device(), {.buckets = {.bytes = std::size_t{1} << 20}});
  std::string names;
  for (const Instruction& one : lowered.instructions) names += std::string(name_of(one)) + ' ';
  CHECK(names == "Gemm AllReduce AwaitSums Elementwise AllReduce AwaitSums ArgMax ");
}

TEST_CASE("overlap: nothing else uses the memory of Values and sums from a start to its await", "[execution][passes]") {
  const Backward backward(6, true);
  const Scheduled scheduled = schedule(backward.graph, backward.wanted(), cpu_device(), {.bytes = 1});
  const Placement placement = place(scheduled, cpu_device(), {}, {});
  REQUIRE(scheduled.schedule.awaits.size() == 6);
  for (const auto& [start, await] : scheduled.schedule.awaits) {
    const NodeId sum = scheduled.group(scheduled.schedule.order[static_cast<std::size_t>(start)]).anchor;
    for (const NodeId used : {sum, scheduled.graph().node(sum).inputs[0]}) {
      const Block& block = placement.blocks[placement.root(placement.places.at(used).block)];
      CHECK(block.first <= start);
      CHECK(block.last >= await);
    }
  }
}

TEST_CASE("overlap: a sum replaces its Value, unless an instruction still reads that", "[execution][passes]") {
  for (const bool late : {false, true}) {
    const Lowered lowered = Backward(3, late).compiled({.bytes = 1});
    for (const std::ptrdiff_t start : positions_of<AllReduce>(lowered)) {
      const AllReduce& sum = at<AllReduce>(lowered, start);
      const bool is_last = sum.number == 2;  // the next product, or the late one, reads each other
      CHECK((sum.parts[0].in == sum.parts[0].out) == (is_last && !late));
    }
  }
}

TEST_CASE("overlap: a variable that is summed keeps its value until the await", "[execution][passes]") {
  Graph graph({.replicas = 2, .rows = 16, .batch = 32});
  const Trace trace(graph);
  const Variable variable("v", Tensor({16, 16}, DType::float32));
  const Value old = graph.read(variable), read = ops::argmax(ops::all_reduce(old));
  graph.assign(variable, ops::exp(old));
  std::string names;
  for (const Instruction& one :
       compile(graph, {.results = {read.id()}}, cpu_device(), {.buckets = {.bytes = 1}}).instructions)
    names += std::string(name_of(one)) + ' ';
  CHECK(names == "AllReduce Elementwise AwaitSums ArgMax Copy ");
}
