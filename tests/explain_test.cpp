#include <catch2/catch_test_macros.hpp>

#include "etude/etude.hpp"
#include "etude/execution/cost.hpp"
#include "etude/execution/explain.hpp"
#include "etude/ops/matmul.hpp"
#include "support.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

Sequential two_layers() {
  return Sequential({layers::dense({.units = 8, .activation = "relu"}), layers::dense({.units = 3})});
}

}  // namespace

TEST_CASE("explain lists the instructions of a compiled step and what is fused into them", "[execution][explain]") {
  Sequential model = two_layers();
  model.predict(Tensor({4, 5}), {.batch_size = 4, .verbose = 0});
  const std::string text = model.explain();
  INFO(text);
  CHECK(text.find("0  Gemm 4×8×5, then Add, Relu  (") != std::string::npos);
  CHECK(text.find("1  Gemm 4×3×8, then Add  (") != std::string::npos);
  CHECK(text.find("2 instructions, ") != std::string::npos);
}

TEST_CASE("explain can begin with the result of each pass, for batches with weights, masks and names",
          "[execution][explain]") {
  const SymbolicTensor words = layers::input({.shape = {3}, .dtype = "int32", .name = "words"}),
                       numbers = layers::input({.shape = {2}, .name = "numbers"});
  const SymbolicTensor vectors = layers::embedding({.input_dim = 5, .output_dim = 2, .mask_zero = true})->apply(words);
  const SymbolicTensor state = layers::gru({.units = 2})->apply(vectors);
  const SymbolicTensor both = layers::concatenate()->apply({state, numbers});
  Functional model({words, numbers}, {layers::dense({.units = 1})->apply(both)});
  model.compile({.optimizer = "sgd", .loss = "mse", .weighted_metrics = {"mae"}});
  const Batch batch =
      named_batch({{"numbers", Tensor({4, 2})}, {"words", Tensor({4, 3}, DType::int32)}}, Tensor({4, 1}), Tensor({4}));
  model.fit(batch, {.batch_size = 4, .verbose = 0});
  const std::string plan = model.explain(), text = model.explain({.passes = true});
  CHECK(text.ends_with('\n' + plan));
  std::size_t at = 0;
  for (const char* pass : {"attention ", "dataflow\n", "groups\n", "recomputed", "schedule\n", "placement in "}) {
    INFO(pass);
    at = text.find(pass, at);
    CHECK(at != text.npos);
  }
}

TEST_CASE("explain shows the step of fit before others", "[execution][explain]") {
  Sequential model = two_layers();
  model.compile({.optimizer = "sgd", .loss = "mean_squared_error"});
  model.predict(Tensor({4, 5}), {.verbose = 0});
  const std::string before = model.explain();
  model.fit(Tensor({4, 5}), Tensor({4, 3}), {.batch_size = 4, .verbose = 0});
  CHECK(model.explain() != before);
}

TEST_CASE("explain counts the multiplications and additions of products", "[execution][explain]") {
  Compiled step(std::vector{Tensor({4, 5}), Tensor({5, 8})},
                [](Graph&, std::span<const Value> x) { return Compiled::Outcome{{ops::matmul(x[0], x[1])}, {}}; });
  const Cost cost = cost_of(step.plan().instructions().front());
  CHECK(cost.operations == 2 * 4 * 5 * 8);
  CHECK(cost.bytes == 4 * (4 * 5 + 5 * 8 + 4 * 8));
}

TEST_CASE("the least bytes of a step are those of its batch and of the variables that it reads and assigns",
          "[execution][explain]") {
  Sequential model = two_layers();
  model.compile({.optimizer = optimizers::sgd({.momentum = 0.9}), .loss = "mean_squared_error"});
  model.train_on_batch(Tensor({4, 5}), Tensor({4, 3}));
  const std::int64_t batch = 4 * 5 + 4 * 3, weights = 5 * 8 + 8 + 8 * 3 + 3;
  // Momenta are as large as weights. Scalars: the step's number, the learning rate, and the mean of the loss.
  const std::string text = model.explain();
  INFO(text);
  CHECK(batch + 4 * weights == 332);
  CHECK(text.find(" a step, of which batch and variables are 1.3") != std::string::npos);
}

TEST_CASE("explain counts a loop's body once for each step", "[execution][explain]") {
  const auto operations = [](std::int64_t steps) {
    Sequential model({layers::lstm({.units = 4})});
    model.predict(Tensor({2, steps, 3}), {.verbose = 0});
    CHECK(model.explain().find("Scan " + std::to_string(steps) + " steps") != std::string::npos);
    Compiled step(std::vector{Tensor({2, steps, 3})}, [&](Graph&, std::span<const Value> x) {
      return Compiled::Outcome{{(*model.get_layer(0))(x[0])}, {}};
    });
    double sum = 0;
    for (const Instruction& one : step.plan().instructions())
      sum += name_of(one) == "Scan" ? cost_of(one).operations : 0;
    return sum;
  };
  CHECK(operations(6) == 3 * operations(2));
}

TEST_CASE("explain names the calls that must come before it", "[execution][explain]") {
  const std::string error = error_of([] { two_layers().explain(); });
  CHECK(error.find("explain() before a step was compiled") != std::string::npos);
}
