#include <catch2/catch_test_macros.hpp>

#include "allocation_counter.hpp"
#include "etude/ops/elementwise.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// The time to build, differentiate and compile graphs is proportional to their size. The test counts allocations.
namespace etude {
namespace {

using namespace samples;

/// The first step of a model with `layers` layers.
std::size_t stacked(int count) {
  const Tensor x = waves({4, 3}), y = signs_of(x);
  const std::size_t before = allocations();
  std::vector<LayerPtr> layers;
  for (int i = 0; i < count; ++i) layers.push_back(layers::dense({.units = 3, .activation = "tanh"}));
  layers.push_back(layers::dense({.units = 1}));
  Sequential model(std::move(layers));
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.train_on_batch(x, y);
  return allocations() - before;
}

/// The same for a functional model with a connection around each layer.
std::size_t described(int count) {
  const Tensor x = waves({4, 3});
  const std::size_t before = allocations();
  const SymbolicTensor in = layers::input({.shape = {3}});
  SymbolicTensor at = in;
  for (int i = 0; i < count; ++i) at = layers::add()->apply({at, layers::dense({.units = 3})->apply(at)});
  Functional model({in}, {at});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.train_on_batch(x, x);
  return allocations() - before;
}

/// A plan of a chain of ops.
std::size_t chained(int count) {
  const Tensor x = waves({4, 3});
  const std::size_t before = allocations();
  evaluate(default_device(), std::vector{x}, [&](std::span<const Value> inputs) {
    Value y = inputs[0];
    for (int i = 0; i < count; ++i) y = ops::sin(y) + 0.5 * i;
    return std::vector{y};
  });
  return allocations() - before;
}

void check_linear(const char* what, std::size_t (*cost)(int), int size) {
  cost(size);  // the parts that exist once
  const std::size_t small = cost(size), middle = cost(2 * size), large = cost(4 * size);
  CAPTURE(what, small, middle, large);
  REQUIRE(middle > small);
  CHECK(static_cast<double>(large - middle) < 2.4 * static_cast<double>(middle - small));
}

}  // namespace

TEST_CASE("building a graph, its gradients and its plan allocates in proportion to its size", "[growth]") {
  check_linear("layers", stacked, 16);
  check_linear("a description", described, 16);
  check_linear("ops", chained, 64);
}

}  // namespace etude
