#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "allocation_counter.hpp"
#include "files_in_memory.hpp"
#include "training_samples.hpp"

// OperationalMetrics, with a fake clock that advances only while steps run.
namespace etude {
namespace {

using namespace samples;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

const Tensor x = waves({10, 3}), y = signs_of(x);

struct Timed {
  Sequential model{two_dense()};
  double now = 100;
  std::vector<double> seconds;
  std::size_t step = 0;
  std::shared_ptr<OperationalMetrics> metrics = callbacks::operational_metrics({.clock = [this] { return now; }});

  explicit Timed(CompileOptions options = mse()) { model.compile(std::move(options)); }

  /// A fit whose steps take the given times, in sequence.
  HistoryPtr fit(std::vector<double> step_seconds, int epochs, std::int64_t batch_size = 2,
                 std::vector<CallbackPtr> more = {}) {
    seconds = std::move(step_seconds);
    step = 0;
    // After the metrics' begin, before their end.
    const auto work =
        callbacks::lambda({.on_train_batch_begin = [this](std::int64_t, Logs&) { now += seconds.at(step++); }});
    std::vector<CallbackPtr> list{metrics, work};
    list.insert(list.end(), more.begin(), more.end());
    return model.fit(x, y,
                     {.batch_size = batch_size, .epochs = epochs, .verbose = 0, .callbacks = list, .shuffle = false});
  }
};

}  // namespace

TEST_CASE("operational metrics: each epoch's logs have median and tail of step times, and samples per second",
          "[callbacks]") {
  Timed run;
  // The first step of all is compiled, and does not count.
  const auto history = run.fit({50, 0.001, 0.002, 0.003, 0.004, /**/ 0.010, 0.010, 0.010, 0.010, 0.060}, 2);
  CHECK((*history)["step_latency_median_ms"][0] == Approx(2.5));
  CHECK((*history)["step_latency_p95_ms"][0] == Approx(3.85));
  CHECK((*history)["step_latency_p99_ms"][0] == Approx(3.97));
  CHECK((*history)["samples_per_second"][0] == Approx(8 / 0.010));
  CHECK((*history)["step_latency_median_ms"][1] == Approx(10));
  CHECK((*history)["step_latency_p99_ms"][1] == Approx(58));
  CHECK((*history)["samples_per_second"][1] == Approx(10 / 0.1));
}

TEST_CASE("operational metrics: a step that compiles is not counted, unless there is no other", "[callbacks]") {
  Timed run;
  // Batches of 4, 4 and 2 rows.
  const auto history = run.fit({50, 0.004, 70, /**/ 0.004, 0.004, 0.001}, 2, 4);
  CHECK((*history)["step_latency_p99_ms"][0] == Approx(4));
  CHECK((*history)["samples_per_second"][0] == Approx(4 / 0.004));
  CHECK((*history)["samples_per_second"][1] == Approx(10 / 0.009));
  Timed single;
  CHECK((*single.fit({2}, 1, 10))["samples_per_second"] == std::vector{5.0});
}

TEST_CASE("operational metrics: an execution of several steps counts by step; eager steps all count", "[callbacks]") {
  CompileOptions two = mse();
  two.steps_per_execution = 2;
  Timed run(two);
  // Executions of 2, 2 and 1 steps; the first traces.
  const auto history = run.fit({50, 0.008, 0.004}, 1);
  CHECK((*history)["step_latency_median_ms"][0] == Approx(4));
  CHECK((*history)["samples_per_second"][0] == Approx(6 / 0.012));
  CompileOptions eager = mse();
  eager.run_eagerly = true;
  CHECK((*Timed(eager).fit({0.001, 0.002, 0.003, 0.004, 0.005}, 1))["step_latency_median_ms"][0] == Approx(3));
}

TEST_CASE("operational metrics: the progress bar shows them", "[callbacks]") {
  Timed run;
  std::string text;
  const auto bar = std::make_shared<ProgbarLogger>([&](std::string_view part) { text += part; });
  struct Shown : Callback {
    std::shared_ptr<ProgbarLogger> bar;
    void set_params(const CallbackParams& params) override {
      CallbackParams shown = params;
      shown.verbose = 2;
      bar->set_params(shown);
    }
    void on_epoch_begin(int epoch, Logs& logs) override { bar->on_epoch_begin(epoch, logs); }
    void on_train_batch_end(std::int64_t step, Logs& logs) override { bar->on_train_batch_end(step, logs); }
    void on_epoch_end(int epoch, Logs& logs) override { bar->on_epoch_end(epoch, logs); }
  };
  const auto shown = std::make_shared<Shown>();
  shown->bar = bar;
  run.fit({50, 0.25, 0.25, 0.25, 0.25}, 1, 2, {shown});
  CHECK_THAT(text, ContainsSubstring(" - step_latency_median_ms: 250.0000 - step_latency_p95_ms: 250.0000 - "
                                     "step_latency_p99_ms: 250.0000 - samples_per_second: 8.0000\n"));
}

TEST_CASE("operational metrics: predict's memory is weights, intermediate results and outputs, after a predict",
          "[callbacks]") {
  Timed run;
  CHECK_FALSE(run.fit(std::vector<double>(5, 0.1), 1)->contains("prediction_memory_bytes"));
  const auto predict = [&](std::int64_t batch_size) {
    run.model.predict(x, {.batch_size = batch_size, .verbose = 0, .callbacks = {run.metrics}});
    return json::parse(run.metrics->json())["prediction_memory_bytes"].get<double>();
  };
  double weights = 0;
  for (const Variable& variable : run.model.variables()) weights += static_cast<double>(variable.bytes());
  const double outputs = 10 * 4;
  const auto arena = [&] { return static_cast<double>(run.model.make_predict_function()->plan()->arena_bytes()); };
  const double of_two = predict(2);
  CHECK(of_two == weights + outputs + arena());
  const double of_ten = predict(10);
  CHECK(of_ten == weights + outputs + arena());
  CHECK(of_two < of_ten);
  const auto history = run.fit(std::vector<double>(5, 0.1), 1);
  CHECK((*history)["prediction_memory_bytes"] == std::vector{of_ten});
}

TEST_CASE("operational metrics: other predictions between a stream's batches do not count", "[callbacks]") {
  Timed run;
  const auto bytes = [&](bool interrupted) {
    for ([[maybe_unused]] const Tensor& batch :
         run.model.predict_stream(x, {.batch_size = 4, .verbose = 0, .callbacks = {run.metrics}})) {
      if (interrupted) run.model.predict(waves({100, x.shape()[1]}), {.batch_size = 4, .verbose = 0});
    }
    return json::parse(run.metrics->json())["prediction_memory_bytes"].get<double>();
  };
  const double alone = bytes(false);
  CHECK(bytes(true) == alone);
}

TEST_CASE("operational metrics: every output of a model counts in predict's memory", "[callbacks]") {
  const SymbolicTensor in = layers::input({.shape = {x.shape()[1]}});
  Functional model({in}, {layers::dense({.units = 3})->apply(in), layers::dense({.units = 5})->apply(in)});
  const auto metrics = callbacks::operational_metrics();
  model.predict_outputs(x, {.verbose = 0, .callbacks = {metrics}});
  double weights = 0;
  for (const Variable& variable : model.variables()) weights += static_cast<double>(variable.bytes());
  const auto rows = static_cast<double>(x.shape()[0]);
  const auto arena = static_cast<double>(model.make_predict_function()->plan()->arena_bytes());
  CHECK(json::parse(metrics->json())["prediction_memory_bytes"].get<double>() == weights + rows * 8 * 4 + arena);
}

TEST_CASE("operational metrics: the time of checkpoints is measured without a report", "[callbacks]") {
  const testing::FilesInMemory files;
  const bool weights = GENERATE(false, true);
  Timed run;
  const auto saver =
      callbacks::model_checkpoint({.filepath = weights ? "w.safetensors" : "model", .save_weights_only = weights});
  const CheckpointWrites before = checkpoint_writes();
  const auto history = run.fit(std::vector<double>(15, 0.1), 3, 2, {saver});
  CHECK(checkpoint_writes().count == before.count + 3);
  // The checkpoints of the first two epochs were written after the measurements of their epochs.
  const std::vector<double> figures = (*history)["checkpoint_write_ms"];
  REQUIRE(figures.size() == 2);
  CHECK((figures[0] > 0 && figures[1] > 0));
  CHECK(figures[0] + figures[1] < checkpoint_writes().milliseconds - before.milliseconds);
}

TEST_CASE("operational metrics: values from others are absent until reported, and count for that epoch",
          "[callbacks]") {
  Timed run;
  const auto reporter = callbacks::lambda({.on_epoch_begin = [&](int epoch, Logs&) {
    if (epoch == 0) return;
    run.metrics->report_checkpoint_write(30);
    run.metrics->report_checkpoint_write(10);
    run.metrics->report_replica_sync(0.5);
  }});
  const auto history = run.fit(std::vector<double>(15, 0.1), 3, 2, {reporter});
  CHECK((*history)["checkpoint_write_ms"] == std::vector{20.0, 20.0});
  CHECK((*history)["replica_sync_ms"] == std::vector{0.5, 0.5});
  const json epochs = json::parse(run.metrics->json())["epochs"];
  CHECK_FALSE(epochs[0].contains("checkpoint_write_ms"));
  CHECK(epochs[2]["replica_sync_ms"] == 0.5);
}

TEST_CASE("operational metrics: as JSON, the epochs of the last fit", "[callbacks]") {
  Timed run;
  CHECK(run.metrics->json() == R"({"epochs": []})");
  run.fit(std::vector<double>(15, 0.5), 3);
  run.fit(std::vector<double>(10, 0.25), 2);
  CHECK(run.metrics->json() ==
        R"({"epochs": [{"epoch": 0, "step_latency_median_ms": 250, "step_latency_p95_ms": 250, )"
        R"("step_latency_p99_ms": 250, "samples_per_second": 8}, {"epoch": 1, "step_latency_median_ms": 250, )"
        R"("step_latency_p95_ms": 250, "step_latency_p99_ms": 250, "samples_per_second": 8}]})");
}

TEST_CASE("callbacks that read each step allocate nothing in it", "[callbacks]") {
  struct Nowhere : FileSink {
    bool empty() const override { return true; }
    void append(std::string_view) override {}
    void flush() override {}
  };
  const OpenFile open = [](const std::string&, bool) { return std::make_unique<Nowhere>(); };
  Sequential model(two_dense());
  model.compile(mse());
  std::size_t before = 0, allocated = 0, steps = 0;
  const auto first = callbacks::lambda({.on_train_batch_begin = [&](std::int64_t, Logs&) { before = allocations(); }});
  int epoch_now = 0;
  const auto last = callbacks::lambda({.on_epoch_begin = [&](int epoch, Logs&) { epoch_now = epoch; },
                                       .on_train_batch_end =
                                           [&](std::int64_t, Logs&) {
                                             if (epoch_now == 0) return;
                                             allocated += allocations() - before;
                                             ++steps;
                                           }});
  model.fit(x, y,
            {.batch_size = 2,
             .epochs = 3,
             .verbose = 0,
             .callbacks = {first, callbacks::operational_metrics(), callbacks::terminate_on_nan(),
                           callbacks::tensorboard({.open = open}), last}});
  CHECK(steps == 10);
  CHECK(allocated == 0);
}

}  // namespace etude
