#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/distribute/detail/replicated_plan.hpp"
#include "mirrored_samples.hpp"
#include "support.hpp"

// MirroredStrategy without a model: shards of rows, functions that run on all replicas, all-reduces and reductions.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::error_of;
using testing::random_tensor;
using testing::same_bits;

Tensor vector_of(std::initializer_list<float> values) {
  return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

std::vector<double> sizes(std::int64_t rows, int replicas) {
  std::vector<double> result;
  for (int replica = 0; replica < replicas; ++replica)
    result.push_back(
        static_cast<double>(rows_of(rows, replicas, replica).end - rows_of(rows, replicas, replica).begin));
  return result;
}

/// Σ w_i · f_i of the replicas' results for their shards of x, for checks of gradients.
double weighted_sum(const StrategyPtr& strategy, const Strategy::ReplicaFunction& function, const Tensor& x) {
  double sum = 0;
  const std::vector<PerReplica> made = strategy->run(function, {strategy->split(x)});
  for (const Tensor& part : made[0])
    for (const double number : testing::numbers(part)) sum += number;
  return sum;
}

}  // namespace

TEST_CASE("replicas: shards are contiguous, in order, and differ by at most one row", "[mirrored]") {
  CHECK(sizes(12, 3) == std::vector<double>{4, 4, 4});
  CHECK(sizes(10, 4) == std::vector<double>{3, 3, 2, 2});
  CHECK(sizes(2, 2) == std::vector<double>{1, 1});
  CHECK(sizes(7, 1) == std::vector<double>{7});
  for (int replica = 1; replica < 4; ++replica) CHECK(rows_of(11, 4, replica).begin == rows_of(11, 4, replica - 1).end);
  CHECK(rows_of(11, 4, 3).end == 11);
}

TEST_CASE("replicas: split gives views of the rows, without a copy", "[mirrored]") {
  const Tensor x = waves({5, 2});
  const PerReplica shares = mirrored(2)->split(x);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].shape() == Shape{3, 2});
  CHECK(shares[1].raw() == x.raw() + 3 * 2 * sizeof(float));
  CHECK_THAT(error_of([&] { mirrored(3)->split(waves({2, 2})); }), ContainsSubstring("at least 3 rows"));
}

TEST_CASE("replicas: run returns each replica's result for its tensor", "[mirrored]") {
  const auto made = mirrored(3)->run([](std::span<const Value> x) { return std::vector{x[0] * 2.0, ops::sum(x[0])}; },
                                     {{vector_of({1, 2}), vector_of({3}), vector_of({4, 5, 6})}});
  REQUIRE(made.size() == 2);
  CHECK(numbers(made[0][2]) == std::vector<double>{8, 10, 12});
  CHECK(numbers(reduce_per_replica(made[0])) == std::vector<double>{2, 4, 6, 8, 10, 12});
  CHECK(reduce_per_replica(made[1], "sum").item() == 21);
  CHECK_THAT(
      error_of([] { mirrored(3)->run([](std::span<const Value>) { return std::vector<Value>(); }, {{Tensor()}}); }),
      ContainsSubstring("1 tensors for 3 replicas"));
}

TEST_CASE("replicas: all_reduce adds up in their order, and all of them have the sum", "[mirrored]") {
  Random random = testing::draws(7);
  for (const DType dtype : {DType::float32, DType::float64, DType::int32}) {
    PerReplica parts;
    for (int replica = 0; replica < 3; ++replica) parts.push_back(random_tensor(random, {70000}, dtype, -9, 9));
    const auto join = [&] {
      return mirrored(3)->run([](std::span<const Value> x) { return std::vector{ops::all_reduce(x[0])}; }, {parts})[0];
    };
    const PerReplica sums = join();
    const Tensor expected = reduce(ReduceOp::sum, parts);
    for (const Tensor& sum : sums) CHECK(same_bits(sum, expected));
    for (const int threads : {1, 3}) {
      const testing::Threads some(threads);
      CHECK(same_bits(join()[1], expected));
    }
  }
}

TEST_CASE("replicas: first and second gradients through all_reduce match finite differences", "[mirrored]") {
  const auto strategy = mirrored(3);
  // Each replica uses the sum differently, and the summands differ too.
  const auto function = [](std::span<const Value> x) {
    const Value sum = ops::all_reduce(ops::sum(ops::sin(x[0]) * x[0]));
    const Value again = ops::all_reduce(ops::sum(ops::exp(x[0] * sum * 0.1)));
    return std::vector{ops::sum(ops::cos(x[0]) * again) + sum * again};
  };
  const auto gradient = [&](std::span<const Value> x) { return gradients(function(x)[0], x); };
  const auto gradient_norm = [&](std::span<const Value> x) {
    return std::vector{ops::sum(ops::square(gradient(x)[0]))};
  };
  const auto second = [&](std::span<const Value> x) { return gradients(gradient_norm(x)[0], x); };
  const std::vector<std::pair<Strategy::ReplicaFunction, Strategy::ReplicaFunction>> pairs{{function, gradient},
                                                                                           {gradient_norm, second}};
  Random random = testing::draws(3);
  const Tensor x = random_tensor(random, {7});
  for (const auto& [of, derivative] : pairs) {
    const Tensor dx = reduce_per_replica(strategy->run(derivative, {strategy->split(x)})[0]);
    for (std::size_t i = 0; i < 7; ++i) {
      constexpr double step = 1e-5;
      Tensor above = x.clone(), below = x.clone();
      above.data<double>()[i] += step;
      below.data<double>()[i] -= step;
      const double slope = (weighted_sum(strategy, of, above) - weighted_sum(strategy, of, below)) / (2 * step);
      CHECK(std::abs(dx.data<double>()[i] - slope) < 1e-5 * std::max(1.0, std::abs(slope)));
    }
  }
}

TEST_CASE("replicas: assigned values that differ are aggregated by the variable's rule, or refused", "[mirrored]") {
  const auto strategy = mirrored(2);
  const auto scope = strategy->scope();
  const auto of = [](Aggregation aggregation) {
    return Variable("v", Tensor::from<float>({}, {10}), false, aggregation);
  };
  const Variable sum = of(Aggregation::sum), mean = of(Aggregation::mean), none = of(Aggregation::none);
  const PerReplica parts{Tensor::from<float>({}, {1}), Tensor::from<float>({}, {2})};
  const auto assign = [&](const Variable& variable) {
    strategy->run(
        [&](std::span<const Value> x) {
          Graph& graph = Graph::current();
          graph.assign(variable, graph.read(variable) + x[0]);
          return std::vector<Value>();
        },
        {parts});
  };
  assign(sum);
  assign(mean);
  CHECK(sum.value().item() == 13);
  CHECK(mean.value().item() == 11.5);
  CHECK(sum.value(1).item() == 13);
  CHECK_THAT(error_of([&] { assign(none); }), ContainsSubstring("differs between 2 replicas"));
  CHECK(none.value().item() == 10);
}

TEST_CASE("replicas: the host writes to all of them, and reads the first", "[mirrored]") {
  const auto strategy = mirrored(2);
  const auto scope = strategy->scope();
  Variable variable("v", Tensor::from<float>({2}, {1, 2}));
  strategy->place({variable});
  CHECK(variable.replicas() == 2);
  variable.assign(Tensor::from<float>({2}, {3, 4}));
  CHECK(numbers(variable.value(1)) == std::vector<double>{3, 4});
  variable.fill(5);
  CHECK(numbers(variable.value(1)) == std::vector<double>{5, 5});
  CHECK(variable.storage(0) != variable.storage(1));
}

TEST_CASE("replicas: a step that all-reduces rows instead of sums over rows is refused", "[mirrored]") {
  const auto strategy = mirrored(2);
  CHECK_THAT(error_of([&] {
               strategy->run([](std::span<const Value> x) { return std::vector{ops::all_reduce(x[0])}; },
                             {strategy->split(waves({3, 2}))});
             }),
             ContainsSubstring("all-reduce sums over rows, not rows"));
}

TEST_CASE("reduce and reduce_per_replica: first, concat, sum, mean, auto", "[mirrored]") {
  const PerReplica rows{vector_of({1, 2}), vector_of({3, 4})}, uneven{vector_of({1, 2}), vector_of({3})};
  const PerReplica scalars{Tensor::from<float>({}, {1}), Tensor::from<float>({}, {4})};
  CHECK(numbers(reduce_per_replica(rows, "first")) == std::vector<double>{1, 2});
  CHECK(numbers(reduce_per_replica(uneven, "concat")) == std::vector<double>{1, 2, 3});
  CHECK(numbers(reduce_per_replica(rows, "sum")) == std::vector<double>{4, 6});
  CHECK(numbers(reduce_per_replica(rows, "mean")) == std::vector<double>{2, 3});
  CHECK(numbers(reduce_per_replica(rows)) == std::vector<double>{1, 2, 3, 4});
  CHECK(reduce_per_replica(scalars).item() == 2.5);
  CHECK(mirrored(2)->reduce(ReduceOp::mean, scalars).item() == 2.5);
  CHECK_THAT(error_of([&] { reduce_per_replica(rows, "last"); }), ContainsSubstring("`reduction` must be \"first\""));
  CHECK_THAT(error_of([&] { reduce_per_replica(uneven, "sum"); }), ContainsSubstring("replicas with [2]"));
  CHECK_THAT(error_of([] { reduce_per_replica({}); }), ContainsSubstring("no values"));
  CHECK_THAT(error_of([&] { reduce_per_replica(scalars, "concat"); }), ContainsSubstring("scalars to concatenate"));
}

TEST_CASE("MirroredStrategy: the number of replicas is the option, or that of devices, or of threads", "[mirrored]") {
  CHECK(mirrored(3)->num_replicas_in_sync() == 3);
  Device& device = default_device();
  MirroredStrategy two({.devices = {device, device}});
  CHECK(two.num_replicas_in_sync() == 2);
  CHECK(&two.device(1) == &device);
  CHECK(MirroredStrategy().num_replicas_in_sync() == num_threads());
  CHECK_THAT(error_of([] { MirroredStrategy({.replicas = -1}); }), ContainsSubstring("replicas = -1"));
  CHECK_THAT(error_of([&] { MirroredStrategy({.replicas = 3, .devices = {device}}); }),
             ContainsSubstring("as many as devices"));
}

}  // namespace etude
