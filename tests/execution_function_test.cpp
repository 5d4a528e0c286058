#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "training_samples.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

const Tensor x = waves({7, 3}), y = signs_of(x);

/// A model whose executions are those of the given functions, if there are any.
struct Replaced : Sequential {
  ExecutionFunction train = {}, test = {}, predicts = {};
  int made = 0;
  Replaced() : Sequential(two_dense()) {}
  std::shared_ptr<StepFunction> make_train_function(bool force) override {
    ++made;
    return replaced(Sequential::make_train_function(force), train);
  }
  std::shared_ptr<StepFunction> make_test_function(bool force) override {
    return replaced(Sequential::make_test_function(force), test);
  }
  std::shared_ptr<StepFunction> make_predict_function(bool force) override {
    return replaced(Sequential::make_predict_function(force), predicts);
  }
  static std::shared_ptr<StepFunction> replaced(std::shared_ptr<StepFunction> function, const ExecutionFunction& by) {
    return by ? replace_execution(std::move(function), by) : function;
  }
};

/// Two steps on each batch.
Task<ExecutionResult> twice(StepFunction& function, BatchIterator& batches) {
  ExecutionResult result;
  for (const Batch* batch = nullptr;;) {
    batch = co_await batches.next();
    if (!batch) break;
    result = co_await run_step(function, *batch);
    result = co_await run_step(function, *batch);
  }
  co_return result;
}
/// Only the first batch of an execution; the number of its rows is a log.
Task<ExecutionResult> first_only(StepFunction& function, BatchIterator& batches) {
  const Batch* const batch = co_await batches.next();
  ExecutionResult result = co_await run_step(function, *batch);
  result.logs.set("rows", static_cast<double>(batch->size()));
  co_return result;
}
Task<ExecutionResult> nothing(StepFunction&, BatchIterator&) { co_return ExecutionResult{}; }

struct Trained {
  std::vector<double> weights, losses, predictions;
  double evaluated;
  friend bool operator==(const Trained&, const Trained&) = default;
};
Trained trained(Model& model, std::int64_t steps_per_execution) {
  CompileOptions options = mse();
  options.steps_per_execution = steps_per_execution;
  model.compile(options);
  const HistoryPtr history = model.fit(x, y, {.batch_size = 2, .epochs = 3, .verbose = 0, .shuffle = false});
  return {weights_of(model), (*history)["loss"], numbers(model.predict(x, {.batch_size = 2, .verbose = 0})),
          model.evaluate(x, y, {.batch_size = 2, .verbose = 0})["loss"]};
}

}  // namespace

TEST_CASE("replace_execution: run_steps is the default, with any number of steps per execution", "[training]") {
  for (const std::int64_t steps : {1, 2, 3}) {
    CAPTURE(steps);
    Sequential usual(two_dense());
    Replaced model;
    model.train = model.test = model.predicts = run_steps;
    CHECK(trained(model, steps) == trained(usual, steps));
    CHECK(model.made == 1);
    CHECK(model.make_train_function(false)->traces() == 2);  // of 2 rows and of 1
  }
}

TEST_CASE("replace_execution: a function may run several steps on a batch, which are replayed", "[training]") {
  Replaced model;
  model.train = twice;
  model.compile(mse());
  model.fit(x, y, {.batch_size = 7, .epochs = 2, .verbose = 0, .shuffle = false});
  CHECK(model.make_train_function(false)->traces() == 1);
  Sequential usual(two_dense());
  usual.compile(mse());
  usual.fit(x, y, {.batch_size = 7, .epochs = 4, .verbose = 0, .shuffle = false});
  CHECK(weights_of(model) == weights_of(usual));
}

TEST_CASE("replace_execution: batches that a function does not take are skipped, and logs may be added", "[training]") {
  Replaced model;
  model.train = first_only;
  CompileOptions options = mse();
  options.steps_per_execution = 2;
  model.compile(options);
  std::vector<double> rows;
  std::vector<std::int64_t> steps;
  struct Recorder : Callback {
    std::vector<double>& rows_of;
    std::vector<std::int64_t>& steps_of;
    Recorder(std::vector<double>& to_rows, std::vector<std::int64_t>& to_steps)
        : rows_of(to_rows), steps_of(to_steps) {}
    void on_train_batch_end(std::int64_t step, Logs& logs) override {
      steps_of.push_back(step);
      rows_of.push_back(logs["rows"]);
    }
  };
  // The batches have 2, 2, 2 and 1 rows.
  const HistoryPtr history = model.fit(x, y,
                                       {.batch_size = 2,
                                        .epochs = 2,
                                        .verbose = 0,
                                        .callbacks = {std::make_shared<Recorder>(rows, steps)},
                                        .shuffle = false});
  CHECK(steps == std::vector<std::int64_t>{1, 3, 1, 3});
  CHECK(rows == std::vector<double>(4, 2));
  CHECK((*history)["rows"] == std::vector<double>{2, 2});

  Sequential usual(two_dense());
  usual.compile(mse());
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const std::int64_t row : {0, 4}) usual.train_on_batch(x.rows(row, row + 2), y.rows(row, row + 2));
  CHECK(weights_of(model) == weights_of(usual));
}

TEST_CASE(
    "replace_execution: data that ends within an execution, and exhausted data, call it with the remaining batches",
    "[training]") {
  std::vector<int> counts;
  Replaced model;
  model.train = [&counts](StepFunction& function, BatchIterator& batches) -> Task<ExecutionResult> {
    int count = 0;
    ExecutionResult result;
    for (const Batch* batch = nullptr;;) {
      batch = co_await batches.next();
      if (!batch) break;
      result = co_await run_step(function, *batch);
      ++count;
    }
    counts.push_back(count);
    co_return result;
  };
  CompileOptions options = mse();
  options.steps_per_execution = 2;
  model.compile(options);
  const auto generator = [](int count) -> Dataset {
    return Dataset::from_tensor_slices(
               {.x = {waves({2 * count, 3})}, .y = {waves({2 * count, 1})}, .sample_weight = {}})
        .batch(2)
        .filter([](const Batch&) { return true; });  // of unknown size
  };
  model.fit(generator(3), {.epochs = 2, .verbose = 0});
  CHECK(counts == std::vector<int>{2, 1, 2, 1});
  counts.clear();
  model.fit(generator(4), {.verbose = 0});
  CHECK(counts == std::vector<int>{2, 2});
}

TEST_CASE("replace_execution: a function may run the step on another batch", "[training]") {
  Replaced model;
  model.test = [](StepFunction& function, BatchIterator& batches) -> Task<ExecutionResult> {
    const Batch* const batch = co_await batches.next();
    Batch other = *batch;
    other.y = {filled(batch->y[0].shape(), 3)};
    ExecutionResult result = co_await run_step(function, other);
    co_return result;
  };
  model.compile(mse());
  Sequential usual(two_dense());
  usual.compile(mse());
  const EvaluateOptions quiet{.batch_size = 7, .verbose = 0};
  CHECK(model.evaluate(x, y, quiet)["loss"] == usual.evaluate(x, filled({7, 1}, 3), quiet)["loss"]);
}

TEST_CASE("replace_execution: single batches are executions, too", "[training]") {
  Replaced model;
  model.train = first_only;
  model.test = twice;
  model.predicts = [](StepFunction& function, BatchIterator& batches) -> Task<ExecutionResult> {
    ExecutionResult result = co_await run_steps(function, batches);
    result.outputs.push_back(filled({7, 1}, 5));
    co_return result;
  };
  model.compile(mse());
  CHECK(model.train_on_batch(x, y)["rows"] == 7);
  CHECK(keys(model.test_on_batch(x, y)) == "loss");
  const std::vector<Tensor> outputs = model.predict_outputs_on_batch(x);
  REQUIRE(outputs.size() == 2);
  CHECK(numbers(outputs[0]) == numbers(model.predict_outputs(x, {.verbose = 0})[0]));
  CHECK(numbers(outputs[1]) == std::vector<double>(7, 5));
}

TEST_CASE("replace_execution: predictions without outputs, and errors of a function, are errors of the loop",
          "[training]") {
  Replaced model;
  model.predicts = nothing;
  model.train = [](StepFunction&, BatchIterator&) -> Task<ExecutionResult> {
    throw Error(ErrorKind::value, "[own] the function failed");
    co_return ExecutionResult{};
  };
  model.compile(mse());
  CHECK_THROWS_WITH(model.predict(x, {.verbose = 0}), ContainsSubstring("Empty batch_outputs"));
  CHECK_THROWS_WITH(model.fit(x, y, {.verbose = 0}), ContainsSubstring("the function failed"));
  model.train = nothing;
  model.compile(mse());
  CHECK(model.fit(x, y, {.epochs = 2, .verbose = 0})->epoch() == std::vector<int>{0, 1});
}

}  // namespace etude
