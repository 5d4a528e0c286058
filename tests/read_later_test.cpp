#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include "etude/kernels/cpu/cpu_device.hpp"
#include "files_in_memory.hpp"
#include "later_device.hpp"
#include "training_samples.hpp"

// On a device whose memory the host can read only later, loops await the values that callbacks, outputs and checkpoints
// read.

using namespace etude;
using namespace etude::samples;
using namespace etude::testing;

namespace {

const Tensor x = waves({22, 3}), y = signs_of(x);

std::shared_ptr<Sequential> classifier() {
  return std::make_shared<Sequential>(std::vector<LayerPtr>{
      layers::dense(
          {.units = 4, .activation = "tanh", .kernel_initializer = initializers::glorot_uniform({.seed = 1})}),
      layers::batch_normalization(), layers::dropout({.rate = 0.25f, .seed = 3}),
      layers::dense(
          {.units = 1, .activation = "sigmoid", .kernel_initializer = initializers::glorot_uniform({.seed = 2})})});
}

/// The logs and the final state of a training.
struct Outcome {
  std::vector<double> batch_losses, epoch_sums, losses, weights, evaluated, predicted;
  std::vector<std::byte> saved;
};

double sum_of(const Model& model) {
  double sum = 0;
  for (const double number : weights_of(model)) sum += number;
  return sum;
}

Outcome trained_on(Device& device, Turns& turns) {
  const FilesInMemory memory;
  const auto scope = std::make_shared<OneDeviceStrategy>(device)->scope();
  const auto model = classifier();
  model->compile(
      {.optimizer = optimizers::adam({.learning_rate = 0.05, .use_ema = true, .ema_overwrite_frequency = {}}),
       .loss = "binary_crossentropy",
       .metrics = {"accuracy"}});
  Outcome outcome;
  const auto watch = std::make_shared<LambdaCallback>(LambdaCallbackOptions{
      .on_epoch_end = [&](int, Logs&) { outcome.epoch_sums.push_back(sum_of(*model)); },
      .on_train_batch_end = [&](std::int64_t, Logs& logs) { outcome.batch_losses.push_back(logs["loss"]); }});
  const std::vector<CallbackPtr> callbacks{
      watch,
      callbacks::learning_rate_scheduler({.schedule = [](int, double rate) { return rate * 0.9; }}),
      callbacks::early_stopping({.monitor = "val_loss", .patience = 1, .restore_best_weights = true}),
      callbacks::model_checkpoint({.filepath = "best.safetensors", .save_best_only = true, .save_weights_only = true}),
      callbacks::model_checkpoint({.filepath = "every_two", .save_freq = 2}),
      callbacks::backup_and_restore({.backup_dir = "backup", .save_freq = 3, .delete_checkpoint = false}),
      callbacks::tensorboard({.log_dir = "logs", .histogram_freq = 1}),
      callbacks::terminate_on_nan()};
  const HistoryPtr history =
      turns.result(model->fit_task({x, y}, {.batch_size = 5,
                                            .epochs = 6,
                                            .verbose = 0,
                                            .callbacks = callbacks,
                                            .validation_data = Data(x.rows(0, 7), y.rows(0, 7))}));
  outcome.losses = (*history)["val_loss"];
  outcome.weights = weights_of(*model);
  const Logs logs = turns.result(model->evaluate_task({x, y}, {.batch_size = 8, .verbose = 0}));
  for (const auto& [name, value] : logs.values()) outcome.evaluated.push_back(value);
  outcome.predicted = numbers(turns.result(model->predict_task(x, {.batch_size = 8, .verbose = 0})).front());
  outcome.saved = memory.files->read("best.safetensors");
  return outcome;
}

}  // namespace

TEST_CASE("training on a device whose memory is read later has the bits of the CPU", "[read_later]") {
  Turns turns;
  LaterDevice later(turns);
  const Outcome expected = trained_on(cpu_device(), turns), outcome = trained_on(later, turns);
  CHECK(expected.batch_losses.size() >= 10);
  CHECK(outcome.batch_losses == expected.batch_losses);
  CHECK(outcome.epoch_sums == expected.epoch_sums);
  CHECK(outcome.losses == expected.losses);
  CHECK(outcome.weights == expected.weights);
  CHECK(outcome.evaluated == expected.evaluated);
  CHECK(outcome.predicted == expected.predicted);
  CHECK(outcome.saved == expected.saved);
}

TEST_CASE("a stream of predictions awaits each batch from a device whose memory is read later", "[read_later]") {
  Turns turns;
  LaterDevice later(turns);
  const auto predicted = [&](Device& device) {
    const auto scope = std::make_shared<OneDeviceStrategy>(device)->scope();
    const auto model = classifier();
    std::vector<double> rows;
    PredictionStream stream = model->predict_stream(x, {.batch_size = 5, .verbose = 0});
    while (const std::optional<Tensor> batch = turns.result(stream.next_task()))
      for (const double number : numbers(*batch)) rows.push_back(number);
    return rows;
  };
  const std::vector<double> expected = predicted(cpu_device());
  CHECK(expected.size() == 22);
  CHECK(predicted(later) == expected);
}

TEST_CASE("a fit without callbacks fetches logs once per epoch and variables at its end", "[read_later]") {
  Turns turns;
  LaterDevice later(turns);
  const auto scope = std::make_shared<OneDeviceStrategy>(later)->scope();
  Sequential model(two_dense());
  model.compile(mse());
  turns.result(model.fit_task({x, y}, {.batch_size = 2, .epochs = 3, .verbose = 0}));
  CHECK(later.fetches == 3 + 2);  // variables before and after the optimizer's final update
}

TEST_CASE("needs() of callbacks is not called on a device whose memory is always readable", "[read_later]") {
  struct Counts : Callback {
    Needs needs(Hook) const override {
      ++asked;
      return Needs::variables;
    }
    mutable int asked = 0;
  };
  Sequential model(two_dense());
  model.compile(mse());
  const auto counts = std::make_shared<Counts>();
  model.fit(x, y, {.verbose = 0, .callbacks = {counts}});
  CHECK(counts->asked == 0);
}

TEST_CASE("an evaluate within fit that cannot read the metrics fails, and the model stays usable", "[read_later]") {
  Turns turns;
  LaterDevice later(turns);
  const auto scope = std::make_shared<OneDeviceStrategy>(later)->scope();
  Sequential model(two_dense());
  struct Evaluates : Callback {
    Needs needs(Hook) const override { return Needs::nothing; }
    void on_epoch_end(int, Logs&) override {
      CHECK_THROWS_WITH(model().evaluate(x, y, {.verbose = 0}), "device memory is read before it was fetched");
      ++attempts;
    }
    int attempts = 0;
  };
  CompileOptions options = mse();
  options.metrics = {"mae"};
  model.compile(std::move(options));
  const auto evaluates = std::make_shared<Evaluates>();
  turns.result(model.fit_task({x, y}, {.epochs = 2, .verbose = 0, .callbacks = {evaluates}}));
  CHECK(evaluates->attempts == 2);
  turns.result(model.evaluate_task({x, y}, {.verbose = 0}));
}
