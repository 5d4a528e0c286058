#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "allocation_counter.hpp"
#include "training_samples.hpp"

#ifdef __EMSCRIPTEN__
#include <emscripten/heap.h>
#endif

// Nothing in a step allocates: neither the loop, the data, the plan, nor the logs that a callback reads.
namespace etude {
namespace {

using namespace samples;

/// The size of WebAssembly's memory, which never shrinks.
std::size_t heap_size() {
#ifdef __EMSCRIPTEN__
  return emscripten_get_heap_size();
#else
  return 0;
#endif
}

/// Counts the allocations of each step, from one of its hooks to that of the next, after all shapes have occurred.
/// Allocations of a whole epoch (the coroutine of its loop) come before its first step.
class Watch : public Callback {
 public:
  explicit Watch(int warm_epoch = 0) : warm_epoch_(warm_epoch) {}

  void on_epoch_begin(int epoch, Logs&) override { epoch_ = epoch; }
  void on_train_batch_begin(std::int64_t step, Logs&) override { begin(step); }
  void on_train_batch_end(std::int64_t, Logs&) override { end(); }
  void on_test_batch_begin(std::int64_t step, Logs&) override { begin(step); }
  void on_test_batch_end(std::int64_t, Logs&) override { end(); }
  // The first output determines the memory of all outputs.
  void on_predict_batch_end(std::int64_t step, Logs&) override { step == 0 ? begin(step) : end(); }

  std::size_t steps = 0, allocated = 0, first_heap = 0;

 private:
  void begin(std::int64_t step) {
    if (epoch_ < warm_epoch_) return;
    if (steps == 0) first_heap = heap_size();
    if (step == 0) before_ = allocations();
  }
  void end() {
    if (epoch_ < warm_epoch_) return;
    const std::size_t now = allocations();
    allocated += now - before_;
    before_ = now;
    ++steps;
  }
  int epoch_ = 0, warm_epoch_;
  std::size_t before_ = 0;
};

/// The bar that fit shows, drawn but not printed.
class QuietBar : public ProgbarLogger {
 public:
  QuietBar() : ProgbarLogger([](std::string_view) {}) {}
  void set_params(const CallbackParams& params) override {
    CallbackParams shown = params;
    shown.verbose = 1;
    ProgbarLogger::set_params(shown);
  }
};

const Tensor x = waves({10, 3}), y = signs_of(x);

CompileOptions compile_options(OptimizerPtr optimizer, std::int64_t steps_per_execution = 1) {
  return {.optimizer = std::move(optimizer),
          .loss = "mse",
          .metrics = {"accuracy"},
          .steps_per_execution = steps_per_execution};
}

}  // namespace

TEST_CASE("fit allocates nothing in a step, and WebAssembly's memory does not grow", "[allocations]") {
  const auto shuffle = GENERATE(values<ShuffleChoice>({true, false, "batch"}));
  const std::int64_t steps_per_execution = GENERATE(1, 2);
  Sequential model(
      {layers::dense({.units = 4, .activation = "tanh"}), layers::dropout(0.5), layers::dense({.units = 1})});
  model.compile(compile_options(optimizers::adam(), steps_per_execution));
  const auto watch = std::make_shared<Watch>(1);
  double sum = 0;
  const auto reader = callbacks::lambda(
      {.on_train_batch_end = [&](std::int64_t, Logs& logs) { sum += logs["loss"] + logs["accuracy"]; },
       .on_test_batch_end = [&](std::int64_t, Logs& logs) { sum += logs["loss"]; }});
  // The counter comes first, so that it also counts the work of the others at the end of the previous step.
  model.fit(x, y,
            {.batch_size = 4,
             .epochs = 20,
             .verbose = 0,
             .callbacks = {watch, reader, std::make_shared<QuietBar>()},
             .validation_data = Data(x, y),
             .shuffle = shuffle});
  CHECK(watch->steps == 19 * 2 * (steps_per_execution == 1 ? 3 : 2));
  CHECK(watch->allocated == 0);
  CHECK(heap_size() == watch->first_heap);
  CHECK(sum != 0);
}

TEST_CASE("evaluate allocates nothing in a step, and predict nothing but its result", "[allocations]") {
  Sequential model(two_dense());
  model.compile(compile_options(optimizers::sgd()));
  const auto run = [&](const CallbackPtr& callback) {
    model.evaluate(x, y, {.batch_size = 4, .verbose = 0, .callbacks = {callback}});
    model.predict(x, {.batch_size = 4, .verbose = 0, .callbacks = {callback}});
  };
  run(std::make_shared<Watch>());
  const auto watch = std::make_shared<Watch>();
  run(watch);
  CHECK(watch->steps == 3 + 2);
  CHECK(watch->allocated == 0);
}

TEST_CASE("a compiled step allocates nothing: train, test and predict, under each optimizer", "[allocations]") {
  const auto optimizer = GENERATE(values<OptimizerPtr>(
      {optimizers::sgd(), optimizers::sgd({.momentum = 0.9, .nesterov = true}),
       optimizers::rmsprop({.momentum = 0.9, .centered = true}), optimizers::adam({.amsgrad = true}),
       optimizers::adamw({.learning_rate = schedules::cosine_decay({.initial_learning_rate = 0.1, .decay_steps = 9}),
                          .global_clipnorm = 1,
                          .use_ema = true,
                          .ema_overwrite_frequency = 2,
                          .gradient_accumulation_steps = 2})}));
  Sequential model(two_dense());
  model.compile(compile_options(optimizer));
  model.fit(x, y, {.epochs = 1, .verbose = 0});
  const Batch batch{{x}, {y}, {}}, inputs{{x}, {}, {}};
  const auto train = model.make_train_function(), test = model.make_test_function(),
             predict = model.make_predict_function();
  Tensor out({10, 1});
  double sum = 0;
  const auto run = [&] {
    (*train)(batch);
    sum += train->logs()["loss"];
    (*test)(batch);
    sum += test->logs()["loss"];
    (*predict)(inputs);
    predict->read_output(0, out.raw());
  };
  run();
  const std::size_t before = allocations();
  for (int i = 0; i < 10; ++i) run();
  const std::size_t after = allocations();
  CHECK(after == before);
  CHECK(sum > 0);
}

TEST_CASE("memory stays flat over models that are built, trained and destroyed", "[allocations]") {
  const auto live_a_model = [] {
    Sequential model(two_dense());
    model.compile(compile_options(optimizers::adam()));
    model.fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0, .validation_split = 0.2});
    model.evaluate(x, y, {.verbose = 0});
    model.predict(x, {.verbose = 0});
  };
  for (int i = 0; i < 10; ++i) live_a_model();
  const std::size_t live = live_allocations(), heap = heap_size();
  for (int i = 0; i < 200; ++i) live_a_model();
  const std::size_t live_after = live_allocations(), heap_after = heap_size();
  CHECK(live_after == live);
  CHECK(heap_after == heap);
}

}  // namespace etude
