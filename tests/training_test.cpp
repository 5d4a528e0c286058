#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "training_samples.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

const Tensor x = waves({8, 3}), y = signs_of(x);

/// A model with a custom step, as in the documentation.
struct OwnStep : Sequential {
  int calls = 0;
  OwnStep() : Sequential(two_dense()) {}
  StepLogs train_step(const StepData& data) override {
    ++calls;
    const Value y_pred = (*this)(data.x[0], true);
    const Value loss = compute_loss(data, y_pred);
    optimizer().apply(gradients(loss, trainable_variables()), trainable_variables());
    return compute_metrics(data, y_pred, loss);
  }
};

}  // namespace

TEST_CASE("custom train_step: a copy of Keras's step trains to the same weights", "[training]") {
  OwnStep own;
  Sequential usual(two_dense());
  for (Sequential* model : {static_cast<Sequential*>(&own), &usual}) {
    model->compile(mse());
    model->fit(x, y, {.batch_size = 3, .epochs = 4, .verbose = 0});
  }
  CHECK(weights_of(own) == weights_of(usual));
}

TEST_CASE("custom train_step: traced once per batch shape, not per step", "[training]") {
  OwnStep model;
  model.compile(mse());
  model.fit(x, y, {.batch_size = 3, .epochs = 5, .verbose = 0});  // batches of 3 and of 2
  CHECK(model.calls == 2);
  CHECK(model.make_train_function()->traces() == 2);
  model.fit(x, y, {.batch_size = 4, .verbose = 0});
  CHECK(model.calls == 3);
  model.fit(x, y, {.batch_size = 3, .verbose = 0});
  CHECK(model.calls == 3);
  model.compile(mse());
  model.fit(x, y, {.batch_size = 4, .verbose = 0});
  CHECK(model.calls == 4);
}

TEST_CASE("custom train_step: the eight plans used last are kept", "[training]") {
  OwnStep model;
  model.compile(mse());
  const auto step = [&](std::int64_t rows) { model.train_on_batch(x.rows(0, rows), y.rows(0, rows)); };
  for (std::int64_t rows = 1; rows <= 8; ++rows) step(rows);
  step(1);
  CHECK(model.calls == 8);
  model.train_on_batch(waves({9, 3}), waves({9, 1}));  // drops the plan for 2 rows
  step(1);
  CHECK(model.calls == 9);
  step(2);
  CHECK(model.calls == 10);
}

TEST_CASE("custom compute_loss, test_step and predict_step are used by fit, evaluate and predict", "[training]") {
  struct Own : Sequential {
    Own() : Sequential(summing_unit()) {}
    Value compute_loss(const StepData& data, const Outputs& y_pred) override {
      return ops::mean(ops::absolute(data.y[0] - y_pred));
    }
    StepLogs test_step(const StepData& data) override {
      return {{"rows", ops::scalar(static_cast<double>(data.x[0].shape()[0]), data.x[0])}};
    }
    Outputs predict_step(const StepData& data) override { return (*this)(data.x[0], false) * 2; }
  } model;
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0})});
  const Tensor ones = filled({4, 3}, 1);
  CHECK((*model.fit(ones, filled({4, 1}, 0), {.verbose = 0}))["loss"][0] == 3);
  CHECK(model.evaluate(ones, filled({4, 1}, 0), {.verbose = 0})["rows"] == 4);
  CHECK(numbers(model.predict(ones, {.verbose = 0})) == std::vector<double>(4, 6));
}

TEST_CASE("custom make_train_function: fit runs its result", "[training]") {
  struct Own : Sequential {
    int made = 0;
    Own() : Sequential(two_dense()) {}
    std::shared_ptr<StepFunction> make_train_function(bool force) override {
      ++made;
      return Sequential::make_train_function(force);
    }
  } model;
  model.compile(mse());
  model.fit(x, y, {.epochs = 3, .verbose = 0});
  CHECK(model.made == 1);
  const auto function = model.make_train_function(false);
  CHECK(model.Sequential::make_train_function() == function);
  CHECK(model.Sequential::make_train_function(true) != function);
}

TEST_CASE("a log may be anything scalar: an input, a variable's value before its update, a constant", "[training]") {
  struct Own : Sequential {
    Own() : Sequential(summing_unit()) {}
    StepLogs train_step(const StepData& data) override {
      const Variable kernel = trainable_variables()[0];
      const Value before = Graph::current().read(kernel);
      const Value loss = compute_loss(data, (*this)(data.x[0], true));
      optimizer().apply(gradients(loss, trainable_variables()), trainable_variables());
      return {{"before", before},
              {"after", Graph::current().read(kernel)},
              {"input", data.x[0]},
              {"constant", ops::scalar(7, loss)}};
    }
  } model;
  model.build({-1, 1});
  model.compile(mse(0.5));
  for (double expected :
       {1.0, -1.0}) {  // y = k x, loss = (2 k)²: dk = 8 k, so k becomes 1 - 0.25 · 8 = -1, and 1 again
    model.optimizer().set_learning_rate(0.25);
    Logs logs = model.train_on_batch(filled({1, 1}, 2), filled({1, 1}, 0));
    CHECK(logs["before"] == expected);
    CHECK(logs["after"] == -expected);
    CHECK(logs["input"] == 2);
    CHECK(logs["constant"] == 7);
  }
}

TEST_CASE("metrics of a custom step are reset with each epoch, if metrics() lists them", "[training]") {
  struct Own : Sequential {
    std::shared_ptr<Mean> size = metrics::mean({.name = "size"});
    Own() : Sequential(summing_unit()) {}
    std::vector<MetricPtr> metrics() const override { return {size}; }
    StepLogs train_step(const StepData& data) override {
      size->update(data.x[0]);
      return {{"size", size->result()}};
    }
  } model;
  model.compile(mse());
  const Tensor rows = Tensor::from<float>({4, 1}, {1, 2, 3, 6});
  const auto history = model.fit(rows, rows, {.batch_size = 1, .epochs = 2, .verbose = 0});
  CHECK((*history)["size"] == std::vector<double>{3, 3});
  CHECK(model.metrics_names() == std::vector<std::string>{"size"});
}

TEST_CASE("gradients of gradients work inside a step", "[training]") {
  struct Own : Sequential {
    Own() : Sequential(summing_unit()) {}
    StepLogs train_step(const StepData& data) override {
      const Value loss = ops::sum(ops::square((*this)(data.x[0], true)));  // (k x)²: 2 k x², then 2 x²
      const std::vector<Variable> variables = trainable_variables();
      const Value first = gradients(loss, variables)[0];
      const Value second = gradients(ops::sum(first), variables)[0];
      optimizer().apply({second}, variables);
      return {{"first", ops::sum(first)}, {"second", ops::sum(second)}};
    }
  } model;
  model.compile(mse(1));
  const Logs logs = model.train_on_batch(filled({1, 1}, 3), filled({1, 1}, 0));
  CHECK(logs["first"] == 18);
  CHECK(logs["second"] == 18);
  CHECK(weights_of(model) == std::vector{-17.0});
}

TEST_CASE("all_reduce is the identity under one device, and so is its gradient", "[training]") {
  struct Own : OwnStep {
    StepLogs train_step(const StepData& data) override {
      const Value y_pred = (*this)(data.x[0], true);
      const Value loss = compute_loss(data, y_pred);
      std::vector<Value> d = gradients(ops::all_reduce(loss), trainable_variables());
      for (Value& gradient : d) gradient = ops::all_reduce(gradient);
      optimizer().apply(d, trainable_variables());
      return compute_metrics(data, y_pred, loss);
    }
  } reduced;
  OwnStep plain;
  for (OwnStep* model : {static_cast<OwnStep*>(&reduced), &plain}) {
    model->compile(mse());
    model->fit(x, y, {.epochs = 3, .verbose = 0});
  }
  CHECK(weights_of(reduced) == weights_of(plain));
}

TEST_CASE("run_eagerly: the step is traced at every batch, and Values can be read in it", "[training]") {
  struct Own : OwnStep {
    std::vector<double> seen;
    Value compute_loss(const StepData& data, const Outputs& y_pred) override {
      const Value loss = OwnStep::compute_loss(data, y_pred);
      seen.push_back(Graph::current().inspect(loss.id()).item());
      return loss;
    }
  } model;
  CompileOptions how = mse();
  how.run_eagerly = true;
  model.compile(how);
  const auto history = model.fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0});
  CHECK(model.calls == 4);
  REQUIRE(model.seen.size() == 4);
  CHECK_THAT((model.seen[2] + model.seen[3]) / 2, WithinAbs((*history)["loss"][1], 1e-6));
  CHECK(model.make_train_function()->plan() == nullptr);
}

TEST_CASE("run_eagerly: reading a Value in a compiled step is an Error that names run_eagerly", "[training]") {
  struct Own : OwnStep {
    Value compute_loss(const StepData& data, const Outputs& y_pred) override {
      Graph::current().inspect(y_pred[0].id());
      return OwnStep::compute_loss(data, y_pred);
    }
  } model;
  model.compile(mse());
  CHECK_THAT(error_of([&] { model.fit(x, y, {.verbose = 0}); }), ContainsSubstring("run_eagerly"));
}

TEST_CASE("the training counter rises only if the step succeeded (L-35)", "[training]") {
  struct Own : OwnStep {
    bool fails = false;
    StepLogs train_step(const StepData& data) override {
      StepLogs logs = OwnStep::train_step(data);
      check(!fails, ErrorKind::value, "test", "no");
      return logs;
    }
  } model;
  for (bool eagerly : {false, true}) {
    CompileOptions how = mse();
    how.run_eagerly = eagerly;
    model.compile(how);
    model.train_on_batch(x.rows(0, 4), y.rows(0, 4));
    const auto before = weights_of(model);
    model.fails = true;
    CHECK_THAT(error_of([&] { model.train_on_batch(x, y); }), ContainsSubstring("[test] no"));
    CHECK(model.optimizer().iterations() == 1);
    CHECK(weights_of(model) == before);
    model.fails = false;
    model.train_on_batch(x, y);
    CHECK(model.optimizer().iterations() == 2);
  }
}

TEST_CASE("a learning rate set between steps takes effect without a new trace", "[training]") {
  OwnStep model;
  model.compile(mse());
  model.train_on_batch(x, y);
  const auto before = weights_of(model);
  model.optimizer().set_learning_rate(0);
  model.train_on_batch(x, y);
  CHECK(weights_of(model) == before);
  CHECK(model.calls == 1);
}

TEST_CASE("train_on_batch resets metrics unless asked not to (L-27)", "[training]") {
  Sequential model(summing_unit());
  model.compile(mse(0));
  const Batch ones{{filled({2, 1}, 1)}, {filled({2, 1}, 0)}, {}}, threes{{filled({6, 1}, 3)}, {filled({6, 1}, 0)}, {}};
  CHECK(model.train_on_batch(ones)["loss"] == 1);
  CHECK(model.train_on_batch(threes)["loss"] == 9);
  model.train_on_batch(ones);
  CHECK(model.train_on_batch(threes, {.reset_metrics = false})["loss"] == 7);
  CHECK(model.test_on_batch(ones)["loss"] == 1);
  CHECK(model.test_on_batch(threes, {.reset_metrics = false})["loss"] == 7);
}

TEST_CASE("train_on_batch multiplies class_weight and sample_weight, and accepts one batch only", "[training]") {
  Sequential model(summing_unit());
  model.compile(mse(0));
  const Tensor in = Tensor::from<float>({3, 1}, {1, 2, 3}), out = Tensor::from<float>({3, 1}, {0, 1, 0});
  CHECK(model.train_on_batch(in, out, {.class_weight = {{0, 3.0}, {1, 6.0}}})["loss"] == (3 * 1 + 6 * 1 + 3 * 9) / 3.0);
  CHECK(model.train_on_batch(Data(in, out, Tensor::from<float>({3}, {1, 3, 1})),
                             {.class_weight = {{0, 3.0}}})["loss"] == (3 * 1 + 3 * 1 + 3 * 9) / 3.0);
  CHECK_THAT(error_of([&] { model.train_on_batch(Dataset::from_tensor_slices(Batch{{in}, {out}, {}}).batch(3)); }),
             ContainsSubstring("[train_on_batch] a Dataset - expected one batch"));
  const Tensor square({3, 2, 1});
  CHECK_THAT(error_of([&] { model.train_on_batch(in, square, {.class_weight = {{0, 3.0}}}); }),
             ContainsSubstring("[train_on_batch] class_weight with targets of shape"));
}

}  // namespace etude
