#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "allocation_counter.hpp"
#include "files_in_memory.hpp"
#include "mirrored_samples.hpp"
#include "support.hpp"

// Models on several replicas: their use, and their costs.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::Threads;

const Tensor x = waves({11, 3}), y = signs_of(x);

using Layers = std::vector<LayerPtr>;
Layers dense_layers() { return two_dense(); }

/// Everything is created within the scope.
std::unique_ptr<Sequential> made(const StrategyPtr& strategy, Layers (*layers)() = dense_layers,
                                 const CompileOptions& options = {.optimizer = "sgd", .loss = "mse"}) {
  return within(strategy, [&] {
    auto model = std::make_unique<Sequential>(layers());
    model->compile(options);
    return model;
  });
}

Layers drawing_layers() {
  Layers layers = two_dense(16);
  layers.insert(layers.begin() + 1, layers::dropout({.rate = 0.5, .seed = 4}));
  return layers;
}

std::vector<double> trained_weights(const StrategyPtr& strategy) {
  const auto model = made(strategy, drawing_layers, {.optimizer = "adam", .loss = "mse", .metrics = {"accuracy"}});
  model->fit(x, y, {.batch_size = 4, .epochs = 6, .verbose = 0});
  return weights_of(*model);
}

std::ptrdiff_t joins_of(const Plan& plan) {
  return std::ranges::count_if(plan.instructions(), [](const Instruction& one) { return name_of(one) == "AllReduce"; });
}

/// Counts the allocations of each step of the last epoch.
class StepAllocations : public Callback {
 public:
  std::size_t count = 0;
  void on_epoch_begin(int epoch, Logs&) override { epoch_ = epoch; }
  void on_train_batch_begin(std::int64_t, Logs&) override { before_ = allocations(); }
  void on_train_batch_end(std::int64_t, Logs& logs) override {
    logs["loss"];
    if (epoch_ == 2) count += allocations() - before_;
  }

 private:
  int epoch_ = 0;
  std::size_t before_ = 0;
};

}  // namespace

TEST_CASE("replicas: runs have the same bits, on any number of threads", "[mirrored]") {
  const std::vector<double> first = trained_weights(mirrored(3));
  CHECK(trained_weights(mirrored(3)) == first);
  for (const int threads : {1, 2, 4}) {
    const Threads some(threads);
    CHECK(trained_weights(mirrored(3)) == first);
  }
}

TEST_CASE("replicas: a step all-reduces once, and allocates nothing", "[mirrored]") {
  const auto model = made(mirrored(3), drawing_layers, {.optimizer = "adam", .loss = "mse", .metrics = {"accuracy"}});
  const Threads one(1);  // each allocates its registers first
  const auto counted = std::make_shared<StepAllocations>();
  model->fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0, .callbacks = {counted}});
  CHECK(counted->count == 0);
  CHECK(joins_of(*model->make_train_function()->plan()) == 1);
  CHECK_THAT(model->explain(), ContainsSubstring("AllReduce "));
}

TEST_CASE("replicas: shards of one shape share a trace, and predict all-reduces nothing", "[mirrored]") {
  const auto model = made(mirrored(2));
  model->train_on_batch(x.rows(0, 4), y.rows(0, 4));
  CHECK(model->make_train_function()->traces() == 1);
  model->train_on_batch(x.rows(0, 5), y.rows(0, 5));
  CHECK(model->make_train_function()->traces() == 3);
  model->predict(Data(x), {.verbose = 0});
  CHECK(joins_of(*model->make_predict_function()->plan()) == 0);
}

TEST_CASE("replicas: one replica has the plan and the bits of a model without a strategy", "[mirrored]") {
  Sequential plain(drawing_layers());
  plain.compile({.optimizer = "adam", .loss = "mse", .metrics = {"accuracy"}});
  const auto alone = made(mirrored(1), drawing_layers, {.optimizer = "adam", .loss = "mse", .metrics = {"accuracy"}});
  for (Sequential* model : {&plain, alone.get()}) model->fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0});
  CHECK(weights_of(plain) == weights_of(*alone));
  CHECK(plain.explain() == alone->explain());
}

TEST_CASE("replicas: fewer rows than replicas run on as many replicas, and the others get their variables",
          "[mirrored]") {
  for (const std::int64_t rows : {1, 2, 3}) {
    CAPTURE(rows);
    const auto one = made(mirrored(1)), four = made(mirrored(4));
    for (Sequential* model : {one.get(), four.get()}) {
      model->train_on_batch(x.rows(0, 8), y.rows(0, 8));
      const Logs logs = model->train_on_batch(x.rows(8, 8 + rows), y.rows(8, 8 + rows));
      CHECK(logs["loss"] > 0);
      CHECK(differing_variable(*model) == "");
      CHECK(model->predict(Data(x.rows(0, rows)), {.verbose = 0}).shape() == Shape{rows, 1});
    }
    CHECK(distance(weights_of(*four), weights_of(*one)) < 1e-6);
  }
}

TEST_CASE("replicas: predict and its stream return the rows in order, evaluate the logs of all rows", "[mirrored]") {
  Sequential plain(two_dense());
  plain.compile(mse());
  const auto model = made(mirrored(3), dense_layers, {.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  const Tensor expected = plain.predict(Data(x), {.verbose = 0});
  CHECK(distance(numbers(model->predict(Data(x), {.batch_size = 4, .verbose = 0})), numbers(expected)) < 1e-6);
  CHECK(distance(numbers(model->predict_on_batch(x)), numbers(expected)) < 1e-6);
  std::vector<double> streamed;
  for (PredictionStream stream = model->predict_stream(Data(x), {.batch_size = 4, .verbose = 0});;) {
    const std::optional<Tensor> batch = stream.next();
    if (!batch) break;
    for (const double number : numbers(*batch)) streamed.push_back(number);
  }
  CHECK(distance(streamed, numbers(expected)) < 1e-6);
  const double loss = plain.evaluate(Data(x, y), {.batch_size = 4, .verbose = 0})["loss"];
  CHECK(std::abs(model->evaluate(Data(x, y), {.batch_size = 4, .verbose = 0})["loss"] - loss) < 1e-6);
  CHECK(std::abs(model->test_on_batch(x, y)["loss"] - loss) < 1e-6);
}

TEST_CASE("replicas: in a custom step compute_loss returns a part, and apply all-reduces gradients", "[mirrored]") {
  struct Own : Sequential {
    using Sequential::Sequential;
    StepLogs train_step(const StepData& data) override {
      const Value y_pred = (*this)(data.x[0], true);
      const Value part = compute_loss(data, {y_pred});
      optimizer().apply(gradients(part, trainable_variables()), trainable_variables());
      add_metric(ops::mean(ops::square(y_pred)), "size");
      StepLogs logs = compute_metrics(data, {y_pred}, part);
      logs.emplace_back("mean of parts", part);
      logs.emplace_back("whole", ops::all_reduce(part));
      return logs;
    }
  };
  const auto train = [&](int replicas) {
    const auto model = within(mirrored(replicas), [] {
      auto own = std::make_unique<Own>(two_dense());
      own->compile(mse());
      return own;
    });
    const Logs logs = model->train_on_batch(x.rows(0, 9), y.rows(0, 9));
    CHECK(std::abs(logs["mean of parts"] * replicas - logs["whole"]) < 1e-6);
    CHECK(std::abs(logs["loss"] - logs["whole"]) < 1e-6);
    return std::pair(weights_of(*model), logs["size"]);
  };
  const auto [one, size] = train(1);
  const auto [three, size_of_three] = train(3);
  CHECK(distance(three, one) < 1e-6);
  CHECK(std::abs(size_of_three - size) < 1e-6);
}

TEST_CASE("replicas: losses of outputs are those of the whole batch, with class weights", "[mirrored]") {
  const auto figures = [&](int replicas) {
    const auto model = within(mirrored(replicas), [] {
      const SymbolicTensor in = layers::input({.shape = {3}});
      const std::vector<LayerPtr> first = two_dense(), second = two_dense();
      auto made = std::make_unique<Functional>(
          std::vector{in}, std::vector{first[1]->apply(first[0]->apply(in)), second[1]->apply(second[0]->apply(in))});
      made->compile({.optimizer = "sgd", .loss = {"mse", "mae"}, .loss_weights = {1.0, 0.5}});
      return made;
    });
    const auto history = model->fit(Data(Batch{{x}, {y, y}, {}}), {.batch_size = 4, .epochs = 2, .verbose = 0});
    std::vector<double> all = weights_of(*model);
    for (const auto& [name, values] : history->history()) all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  CHECK(distance(figures(3), figures(1)) < 1e-6);
  const auto weighed = [&](int replicas) {
    const auto model = made(mirrored(replicas));
    model->fit(x, y, {.batch_size = 4, .verbose = 0, .class_weight = {{0, 1.0}, {1, 3.0}}});
    return weights_of(*model);
  };
  CHECK(distance(weighed(3), weighed(1)) < 1e-6);
}

TEST_CASE("replicas: state of single rows is refused", "[mirrored]") {
  const auto model = made(mirrored(2), [] { return Layers{layers::lstm({.units = 2, .stateful = true})}; });
  CHECK_THAT(error_of([&] { model->train_on_batch(waves({4, 5, 3}), waves({4, 2})); }),
             ContainsSubstring("assigned a Value that differs between 2 replicas"));
}

TEST_CASE("replicas: BatchNormalization uses the mean of the shards' moments", "[mirrored]") {
  const auto model = made(
      mirrored(2), [] { return Layers{layers::batch_normalization({.momentum = 0}), layers::dense({.units = 1})}; });
  const Tensor batch = Tensor::from<float>({4, 1}, {1, 3, 10, 20});
  model->train_on_batch(batch, filled({4, 1}, 0));
  const std::vector<Tensor> weights = model->get_weights();
  CHECK(weights[2].at(0) == 8.5);  // of 2 and 15
  CHECK(weights[3].at(0) == (1 + 25) / 2.0);
  CHECK(differing_variable(*model) == "");
}

TEST_CASE("replicas: run_eagerly runs the whole batch as one replica", "[mirrored]") {
  const CompileOptions options{.optimizer = "sgd", .loss = "mse", .run_eagerly = true};
  const auto eager = made(mirrored(2), dense_layers, options);
  Sequential plain(two_dense());
  plain.compile(options);
  for (Sequential* model : {eager.get(), &plain}) model->fit(x, y, {.batch_size = 4, .verbose = 0});
  CHECK(weights_of(*eager) == weights_of(plain));
}

TEST_CASE("replicas: loading a model, or weights, sets all of them", "[mirrored]") {
  const testing::FilesInMemory files;
  const auto strategy = mirrored(2);
  const auto model = made(strategy, dense_layers, {.optimizer = "adam", .loss = "mse"});
  model->fit(x, y, {.batch_size = 4, .verbose = 0});
  model->save("saved");
  model->save_weights("w.safetensors");
  const ModelPtr loaded = within(strategy, [] { return load_model("saved"); });
  for (Model* each : {static_cast<Model*>(model.get()), loaded.get()})
    each->fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false});
  CHECK(weights_of(*loaded) == weights_of(*model));
  CHECK(differing_variable(*loaded) == "");
  loaded->load_weights("w.safetensors");
  CHECK(differing_variable(*loaded) == "");

  Sequential alone(two_dense());
  alone.build({-1, 3});
  alone.load_weights("w.safetensors");
  CHECK(weights_of(alone) == weights_of(*loaded));
}

TEST_CASE("replicas: operational metrics report the time of all-reduces with several replicas", "[mirrored]") {
  const auto sync_of = [](int replicas) {
    const auto model = made(mirrored(replicas));
    const auto history =
        model->fit(x, y, {.batch_size = 4, .verbose = 0, .callbacks = {callbacks::operational_metrics()}});
    CHECK(model->strategy()->all_reduce_clock().watchers == 0);
    return history->contains("replica_sync_ms") ? (*history)["replica_sync_ms"][0] : -1;
  };
  CHECK(sync_of(1) == -1);
  CHECK(sync_of(2) > 0);
}

}  // namespace etude
