#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/training/detail/training.hpp"
#include "gpu_samples.hpp"
#include "mirrored_samples.hpp"
#include "support.hpp"

// Whole models on a GPU, observed at its runtime.
namespace etude {

using namespace samples;

TEST_CASE("a model trains, evaluates and predicts on a GPU as on the processor", "[cuda][training]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    Gpu gpu;
    const auto on_cpu = trained(kind, std::make_shared<OneDeviceStrategy>(cpu_device())),
               on_gpu = trained(kind, gpu.strategy);
    CHECK(distance(weights_of(*on_cpu), weights_of(*on_gpu)) < 2e-5);
    const auto loss = [&](Sequential& model) { return model.evaluate(kind.x, labels, {.verbose = 0})["loss"]; };
    CHECK(std::abs(loss(*on_cpu) - loss(*on_gpu)) < 2e-5);
    const auto predictions = [&](Sequential& model) { return numbers(model.predict(kind.x, {.verbose = 0})); };
    CHECK(distance(predictions(*on_cpu), predictions(*on_gpu)) < 2e-5);
    CHECK(gpu.counts().graphs > 0);
  }
}

TEST_CASE("a recorded step has the same bits as its kernels enqueued one by one", "[cuda][training]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    Gpu recording, queueing({.record = false});
    CHECK(weights_of(*trained(kind, recording.strategy)) == weights_of(*trained(kind, queueing.strategy)));
    CHECK(recording.counts().graphs > 0);
    CHECK(queueing.counts().graphs == 0);
  }
}

TEST_CASE("a step is one launch: nothing is allocated, compiled or uploaded, and the host waits for nothing",
          "[cuda][training]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    Gpu gpu;
    const auto asked = std::make_shared<Asked>(gpu.counts());
    trained(kind, gpu.strategy, {.batch_size = 11, .callbacks = {asked}});
    REQUIRE(asked->steps.size() == 6);
    for (std::size_t step = 2; step < asked->steps.size(); ++step)
      CHECK(asked->steps[step] == one_launch(step % 2 == 0));
  }
}

TEST_CASE("a model in half precision trains on a GPU nearly as on the processor, with one launch per step",
          "[cuda][training][mixed]") {
  for (const Kind& kind : kinds)
    for (const std::string policy : {"mixed_float16", "mixed_bfloat16"}) {
      if (policy == "mixed_float16" && kind.layers != dense) continue;  // they differ only in how they are stored
      INFO(kind.name << ", " << policy);
      const Policy set(policy);
      Gpu gpu, queueing({.record = false});
      const auto asked = std::make_shared<Asked>(gpu.counts());
      const auto on_gpu = trained(kind, gpu.strategy, {.batch_size = 11, .callbacks = {asked}});
      const auto queued = trained(kind, queueing.strategy, {.batch_size = 11});
      const auto on_cpu = trained(kind, std::make_shared<OneDeviceStrategy>(cpu_device()), {.batch_size = 11});
      CHECK(distance(weights_of(*on_cpu), weights_of(*on_gpu)) < 0.02);
      CHECK(weights_of(*queued) == weights_of(*on_gpu));
      for (std::size_t step = 2; step < asked->steps.size(); ++step)
        CHECK(asked->steps[step] == one_launch(step % 2 == 0));
    }
}

TEST_CASE("the steps of an execution are one launch, with the bits of steps launched one by one", "[cuda][training]") {
  for (const Kind& kind : kinds)
    for (const int replicas : {1, 2}) {
      INFO(kind.name << ", " << replicas << " replicas");
      Gpu gpu;
      const StrategyPtr strategy =
          replicas == 1 ? gpu.strategy
                        : std::make_shared<MirroredStrategy>(MirroredOptions{.devices = {gpu.device, gpu.device}});
      const auto asked = std::make_shared<Asked>(gpu.counts());
      // Batches of 4, 4, 4, 4, 4 and 2 rows: executions of three and two steps; the steps of the last one differ.
      const auto together = trained(kind, strategy, {.batch_size = 4, .callbacks = {asked}}, 3);
      CHECK(weights_of(*together) == weights_of(*trained(kind, strategy, {.batch_size = 4})));
      REQUIRE(asked->steps.size() == 6);
      CHECK(asked->steps[4] == one_launch(true, replicas));
      CHECK(asked->steps[5] == CountingRuntime::Counts{.graphs = 2});
    }
}

TEST_CASE("arrays larger than device memory are uploaded batch by batch, with the same bits", "[cuda][training]") {
  for (const Kind& kind : kinds)
    for (const bool shuffle : {false, true}) {
      INFO(kind.name << (shuffle ? ", shuffled" : ""));
      Gpu gpu, small;
      small.runtime().room = 2 * kind.x.bytes();  // the labels do not fit
      const auto asked = std::make_shared<Asked>(small.counts());
      const auto model = trained(kind, small.strategy, {.batch_size = 11, .callbacks = {asked}, .shuffle = shuffle});
      CHECK(weights_of(*model) == weights_of(*trained(kind, gpu.strategy, {.batch_size = 11, .shuffle = shuffle})));
      CHECK(asked->steps.back() == CountingRuntime::Counts{.uploads = 2, .graphs = 1});
    }
}

TEST_CASE("labels in arrays in device memory are checked before a step runs", "[cuda][training]") {
  const Kind& kind = kinds[0];
  Gpu gpu;
  const auto scope = gpu.strategy->scope();
  Sequential model({layers::dense({.units = 3})});
  model.compile({.optimizer = "sgd", .loss = losses::sparse_categorical_crossentropy({.from_logits = true})});
  Tensor wrong = labels.astype(DType::int32).clone();
  wrong.data<std::int32_t>().back() = 3;
  const std::string row = std::to_string(wrong.size() - 1);
  const auto fit = [&](const Tensor& y) { model.fit(kind.x, y, {.batch_size = 8, .verbose = 0}); };
  CHECK_THAT(testing::error_of([&] { fit(wrong); }),
             Catch::Matchers::ContainsSubstring("label 3 in row " + row + " of y - expected 0 to 2"));
  CHECK(model.optimizer().iterations() == 0);
  fit(labels);
  CHECK(model.optimizer().iterations() > 0);
}

namespace {

/// Compiles the steps anew after each epoch, and counts what each batch of validation uploads.
class Retracing : public Callback {
 public:
  explicit Retracing(const CountingRuntime::Counts& counts) : counts_(counts) {}
  std::vector<int> uploads;
  void on_epoch_end(int, Logs&) override { model().training()->retrace(); }
  void on_test_batch_begin(std::int64_t, Logs&) override { before_ = counts_.uploads; }
  void on_test_batch_end(std::int64_t, Logs&) override { uploads.push_back(counts_.uploads - before_); }

 private:
  const CountingRuntime::Counts& counts_;
  int before_ = 0;
};

}  // namespace

TEST_CASE("targets of some outputs train on a GPU as on the processor, also from arrays in device memory",
          "[cuda][training]") {
  const auto train = [](const StrategyPtr& strategy) {
    const auto model = within(strategy, [] {
      const SymbolicTensor x = layers::input({.shape = {3}});
      const auto output = [&](const char* name) {
        return layers::dense({.units = 2, .kernel_initializer = "ones", .name = name})->apply(x);
      };
      auto made = std::make_unique<Functional>(std::vector{x}, std::vector{output("a"), output("b")});
      made->compile(mse());
      return made;
    });
    model->fit(Data(waves({40, 3}), {{"b", waves({40, 2}, 2)}}), {.batch_size = 8, .epochs = 2, .verbose = 0});
    return weights_of(*model);
  };
  Gpu gpu;
  const auto on_cpu = train(std::make_shared<OneDeviceStrategy>(cpu_device())), on_gpu = train(gpu.strategy);
  CHECK(distance(on_gpu, on_cpu) < 2e-5);
  CHECK(on_cpu[0] == 1);  // of "a"
  CHECK(on_cpu[8] != 1);  // of "b"
}

TEST_CASE("validation data is in device memory too, and is uploaded again for a recompiled step", "[cuda][training]") {
  const Kind& kind = kinds[0];
  Gpu gpu;
  const auto retracing = std::make_shared<Retracing>(gpu.counts());
  const auto validated = [&](const StrategyPtr& strategy, std::vector<CallbackPtr> callbacks) {
    set_random_seed(5);
    const auto scope = strategy->scope();
    Sequential model({layers::dense({.units = 3})});
    model.compile({.optimizer = "sgd", .loss = losses::sparse_categorical_crossentropy({.from_logits = true})});
    const HistoryPtr history = model.fit(kind.x, labels,
                                         {.batch_size = 8,
                                          .epochs = 2,
                                          .verbose = 0,
                                          .callbacks = std::move(callbacks),
                                          .validation_data = Data(Batch{{kind.x}, {labels}, {}})});
    return history->history().back();
  };
  const auto [name, on_gpu] = validated(gpu.strategy, {retracing});
  const auto on_cpu = validated(std::make_shared<OneDeviceStrategy>(cpu_device()), {}).second;
  CHECK(name == "val_loss");
  CHECK(distance(on_gpu, on_cpu) < 2e-5);
  CHECK(retracing->uploads == std::vector{4, 0, 0, 4, 0, 0});  // x, labels, the order of the rows and its beginning
}

TEST_CASE("a model trains on a GPU as on the processor after evaluate and train_on_batch", "[cuda][training]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    const auto used = [&](const StrategyPtr& strategy) {
      set_random_seed(5);
      const auto scope = strategy->scope();
      Sequential model(kind.layers());
      model.compile(
          {.optimizer = kind.optimizer, .loss = losses::sparse_categorical_crossentropy({.from_logits = true})});
      // Compiled steps for uploaded batches now select their batches: of 8, 5 and 3 rows.
      model.train_on_batch(kind.x.rows(0, 8), labels.rows(0, 8));
      const Batch validation{{kind.x.rows(0, 13)}, {labels.rows(0, 13)}, {}};
      model.evaluate(validation.x[0], validation.y[0], {.batch_size = 5, .verbose = 0});
      for (int fit = 0; fit < 2; ++fit)
        model.fit(kind.x, labels,
                  {.batch_size = 8,
                   .epochs = 3,
                   .verbose = 0,
                   .validation_data = Data(validation),
                   .validation_batch_size = 5});
      return weights_of(model);
    };
    Gpu gpu;
    CHECK(distance(used(gpu.strategy), used(std::make_shared<OneDeviceStrategy>(cpu_device()))) < 2e-5);
  }
}

TEST_CASE("batches may have any order, with the partial one anywhere", "[cuda][training]") {
  const Kind& kind = kinds[0];
  for (const int replicas : {1, 2}) {
    Gpu gpu;
    const auto strategy = [&](Device& device) {
      return std::make_shared<MirroredStrategy>(MirroredOptions{
          .devices = std::vector<std::reference_wrapper<Device>>(static_cast<std::size_t>(replicas), device)});
    };
    for (const std::int64_t steps_per_execution : {1, 2}) {
      INFO(replicas << " replicas, " << steps_per_execution << " steps");
      // Batches of 7, 7, 7 rows and 1; one replica gets the last row.
      const auto weights = [&](Device& device) {
        return weights_of(*trained(kind, strategy(device), {.batch_size = 7, .shuffle = "batch"}, steps_per_execution));
      };
      CHECK(distance(weights(gpu.device), weights(cpu_device())) < 2e-5);
    }
  }
}

namespace {

/// Batches of four rows, and then an error.
class Failing {
 public:
  Failing(const Tensor& x, std::int64_t batches) : x_(x), left_(batches) {}
  std::optional<Batch> operator()() {
    if (left_-- == 0) throw std::runtime_error("the disk is gone");
    return Batch{{x_.rows(0, 4)}, {labels.rows(0, 4)}, {}};
  }

 private:
  Tensor x_;
  std::int64_t left_;
};

}  // namespace

TEST_CASE("the steps before a failure of the data have run, on any device", "[cuda][training]") {
  const Kind& kind = kinds[0];
  const auto trained_until_failure = [&](const StrategyPtr& strategy) {
    const auto model = trained(kind, strategy, {}, 4);
    CHECK_THROWS_WITH(model->fit(Generator(Failing(kind.x, 6)), {.verbose = 0}), "the disk is gone");
    return weights_of(*model);
  };
  Gpu gpu;
  CHECK(distance(trained_until_failure(gpu.strategy),
                 trained_until_failure(std::make_shared<OneDeviceStrategy>(cpu_device()))) < 2e-5);
}

TEST_CASE("a fit that failed within an epoch is resumed as on the processor", "[cuda][training]") {
  struct Ending : Callback {
    void on_train_batch_end(std::int64_t step, Logs&) override {
      if (step >= 2) throw std::runtime_error("enough");
    }
  };
  const Kind& kind = kinds[0];
  for (const std::int64_t steps_per_execution : {1, 2}) {
    INFO(steps_per_execution << " steps");
    const auto taken_up = [&](const StrategyPtr& strategy) {
      const auto model = trained(kind, strategy, {}, steps_per_execution);
      const FitOptions ended{.batch_size = 4, .epochs = 2, .verbose = 0, .callbacks = {std::make_shared<Ending>()}};
      CHECK_THROWS_WITH(model->fit(kind.x, labels, ended), "enough");
      model->fit(kind.x, labels, {.batch_size = 8, .epochs = 2, .verbose = 0});
      return weights_of(*model);
    };
    Gpu gpu;
    CHECK(distance(taken_up(gpu.strategy), taken_up(std::make_shared<OneDeviceStrategy>(cpu_device()))) < 2e-5);
  }
}

TEST_CASE("explain names the products that programs compute on a GPU", "[cuda][explain]") {
  Gpu gpu;
  const auto scope = gpu.strategy->scope();
  Sequential model({layers::dense({.units = 8, .activation = "relu"}), layers::dense({.units = 3})});
  model.predict(waves({4, 300}), {.verbose = 0});
  const std::string text = model.explain();
  INFO(text);
  CHECK(text.find("Gemm 4×8×300, then Add, Relu  (") != std::string::npos);
  CHECK(text.find("Gemm 4×3×8, by a program, then Add  (") != std::string::npos);
}

TEST_CASE("the steps of one recording have at most 4,000 instructions in total", "[cuda]") {
  Gpu gpu;
  const auto steps_of_one_recording = [&](int products) {
    Graph graph;
    Trace trace(graph);
    const Value start = graph.input({64, 64}, DType::float32);
    Value x = start;
    for (int i = 0; i < products; ++i) x = ops::matmul(x, start);
    return Plan(graph, std::array{x}, {}, std::make_shared<Arena>(gpu.device), {}, 100).steps();
  };
  CHECK(steps_of_one_recording(10) == 64);
  CHECK(steps_of_one_recording(100) == 40);
  CHECK(steps_of_one_recording(5000) == 1);
}

TEST_CASE("all programs of a step are compiled together before it runs", "[cuda]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    Gpu gpu;
    trained(kind, gpu.strategy);
    const std::vector<std::size_t>& compilations = gpu.runtime().compilations;
    // A step, its logs, the counter of batches; the step of the last, smaller batch, and its logs.
    REQUIRE(compilations.size() == 5);
    CHECK(compilations[0] >= 10);
    CHECK(compilations[3] >= 6);
  }
}

TEST_CASE("every program of whole trainings compiles for GPUs of compute capability 8.0", "[.][nvrtc]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    Gpu gpu;
    trained(kind, gpu.strategy);
    trained(kind, std::make_shared<MirroredStrategy>(MirroredOptions{.devices = {gpu.device, gpu.device}}));
    check_nvrtc_compiles(gpu.runtime().sources, 80);
  }
}

TEST_CASE("a layer made on one device is computed on the other", "[cuda]") {
  Gpu gpu;
  const Tensor x = waves({3, 5});
  const LayerPtr here = layers::dense({.units = 4}),
                 there = within(gpu.strategy, [&] { return layers::dense({.units = 4}); });
  for (const LayerPtr& layer : {here, there}) {
    const Tensor first = (*layer)(x);
    const auto evaluated = [&](Device& device) {
      return evaluate(device, std::span(&x, 1),
                      [&](std::span<const Value> values) { return std::vector{(*layer)(values[0], false)}; })
          .front();
    };
    CHECK(testing::difference(evaluated(gpu.device), first, {1e-6, 1e-6}) == "");
    CHECK(testing::difference(evaluated(cpu_device()), first, {1e-6, 1e-6}) == "");
  }
}

}  // namespace etude
