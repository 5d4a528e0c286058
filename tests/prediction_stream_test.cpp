#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <ranges>

#include "training_samples.hpp"

// predict, batch by batch.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

static_assert(std::ranges::input_range<PredictionStream> && std::ranges::input_range<OutputsStream>);
static_assert(!std::is_copy_constructible_v<PredictionStream> &&
              std::is_nothrow_move_constructible_v<PredictionStream>);

const Tensor x = waves({10, 3});
const PredictOptions by_four{.batch_size = 4, .verbose = 0};

std::vector<Shape> shapes_of(PredictionStream stream) {
  std::vector<Shape> shapes;
  for (const Tensor& batch : stream) shapes.push_back(batch.shape());
  return shapes;
}

/// All batches in sequence.
template <class Stream> std::vector<double> rows_of(Stream&& stream) {
  std::vector<double> rows;
  for (const Tensor& batch : stream)
    for (const double number : numbers(batch)) rows.push_back(number);
  return rows;
}

struct Slices : Sequence {
  std::int64_t size() const override { return 3; }
  Batch batch(std::int64_t index) override {
    return {{x.rows(4 * index, std::min<std::int64_t>(10, 4 * index + 4))}, {}, {}};
  }
};
Dataset dataset() { return Dataset::from_tensor_slices({{x}, {}, {}}).batch(4); }
Generator generator() {
  return [at = std::int64_t{0}]() mutable -> std::optional<Batch> {
    if (at == 10) return {};
    const std::int64_t begin = std::exchange(at, std::min<std::int64_t>(10, at + 4));
    return Batch{{x.rows(begin, at)}, {}, {}};
  };
}
/// An event loop: a test completes the awaited results.
struct EventLoop {
  std::vector<std::coroutine_handle<>> waiting;
  struct Later : Pending {
    explicit Later(EventLoop& given) : loop(given) {}
    bool ready() const override { return false; }
    void on_ready(std::coroutine_handle<> resume) override { loop.waiting.push_back(resume); }
    void rethrow() override {}
    EventLoop& loop;
  };
  void turn() {
    for (const auto handle : std::exchange(waiting, {})) handle.resume();
  }
};
/// Batches that must be awaited.
struct LateBatches : BatchSource {
  explicit LateBatches(EventLoop& given) : loop(given) {}
  PendingPtr fetch() override { return std::make_unique<EventLoop::Later>(loop); }
  std::optional<Batch> consume() override { return batches(); }
  EventLoop& loop;
  Generator batches = generator();
};
Data late(EventLoop& loop) { return std::unique_ptr<BatchSource>(std::make_unique<LateBatches>(loop)); }

}  // namespace

TEST_CASE("a prediction stream yields the rows of predict, batch by batch, with the partial one", "[predict_stream]") {
  Sequential model(two_dense());
  CHECK(shapes_of(model.predict_stream(x, by_four)) == std::vector<Shape>{{4, 1}, {4, 1}, {2, 1}});
  CHECK(rows_of(model.predict_stream(x, by_four)) == numbers(model.predict(x, by_four)));
}

TEST_CASE("a prediction stream reads every kind of data", "[predict_stream]") {
  Sequential model(two_dense());
  const std::vector<double> expected = numbers(model.predict(x, by_four));
  const std::vector<Data> kinds{Data(x),
                                Data(Column(x).rows()),
                                Data(dataset()),
                                Data(dataset().prefetch(2)),
                                Data(generator()),
                                Data(generator(), {.workers = 1}),
                                Data(std::make_shared<Slices>()),
                                Data(DatasetCreator{[](const InputContext&) { return dataset().repeat(); }})};
  for (const Data& data : kinds) {
    CAPTURE(data.to_string());
    PredictOptions options{.verbose = 0};
    if (data.has_rows()) options.batch_size = 4;
    if (std::holds_alternative<DatasetCreator>(data.kind())) options.steps = 3;
    CHECK(rows_of(model.predict_stream(data, options)) == expected);
  }
}

TEST_CASE("a prediction stream consumes only the requested batches of infinite data", "[predict_stream]") {
  Sequential model(summing_unit());
  int made = 0;
  const Generator endless = [&]() -> std::optional<Batch> { return ++made, Batch{{x}, {}, {}}; };
  PredictionStream stream = model.predict_stream(endless, {.verbose = 0});
  CHECK(made == 0);  // nothing runs before
  for (int i = 0; i < 3; ++i) CHECK(stream.next().has_value());
  CHECK(made <= 4);
  CHECK(shapes_of(model.predict_stream(endless, {.verbose = 0, .steps = 2})).size() == 2);
}

TEST_CASE("batches of a prediction stream stay valid after the next ones, and after the stream", "[predict_stream]") {
  Sequential model(two_dense());
  std::vector<Tensor> batches;
  for (const Tensor& batch : model.predict_stream(x, by_four)) batches.push_back(batch);
  std::vector<double> rows;
  for (const Tensor& batch : batches)
    for (const double number : numbers(batch)) rows.push_back(number);
  CHECK(rows == numbers(model.predict(x, by_four)));
}

TEST_CASE("a prediction stream has the same batches for any steps_per_execution", "[predict_stream]") {
  for (const bool eager : {false, true}) {
    Sequential model(two_dense());
    model.compile({.loss = "mse", .run_eagerly = eager, .steps_per_execution = 2});
    const auto recorder = std::make_shared<Recorder>();
    PredictOptions options = by_four;
    options.callbacks = {recorder};
    CHECK(rows_of(model.predict_stream(x, options)) == numbers(model.predict(x, by_four)));
    CHECK(recorder->events == Texts{"predict_begin", "predict_batch_begin 0", "predict_batch_end 1",
                                    "predict_batch_begin 2", "predict_batch_end 2", "predict_end"});
  }
}

TEST_CASE("callbacks get a batch before the caller does, and the end after the last batch", "[predict_stream]") {
  Sequential model(two_dense());
  const auto recorder = std::make_shared<Recorder>();
  PredictionStream stream = model.predict_stream(x, {.batch_size = 5, .verbose = 0, .callbacks = {recorder}});
  CHECK(recorder->events.empty());
  CHECK(stream.next().has_value());
  CHECK(recorder->events == Texts{"predict_begin", "predict_batch_begin 0", "predict_batch_end 0"});
  CHECK(stream.next().has_value());
  CHECK(recorder->events.size() == 5);
  CHECK_FALSE(stream.next().has_value());
  CHECK(recorder->events.back() == "predict_end");
  CHECK_FALSE(stream.next().has_value());
  CHECK(recorder->events.size() == 6);
}

TEST_CASE("a prediction stream that is closed early calls the end hooks", "[predict_stream]") {
  Sequential model(two_dense());
  const auto recorder = std::make_shared<Recorder>();
  const PredictOptions options{.verbose = 0, .callbacks = {recorder}};
  const Generator endless = []() -> std::optional<Batch> { return Batch{{x}, {}, {}}; };
  SECTION("by break") {
    for (const Tensor& batch : model.predict_stream(endless, options)) {
      CHECK(batch.shape() == Shape{10, 1});
      break;
    }
  }
  SECTION("by an exception") {
    CHECK_THROWS_AS(
        [&] {
          for ([[maybe_unused]] const Tensor& batch : model.predict_stream(endless, options)) throw 7;
        }(),
        int);
  }
  SECTION("by close(), after which there are no batches") {
    PredictionStream stream = model.predict_stream(endless, options);
    CHECK(stream.next().has_value());
    stream.close();
    CHECK_FALSE(stream.next().has_value());
    stream.close();
  }
  SECTION("by stop_predicting") {
    for ([[maybe_unused]] const Tensor& batch : model.predict_stream(endless, options)) model.stop_predicting = true;
  }
  SECTION("by another stream that replaces it") {
    PredictionStream stream = model.predict_stream(endless, options);
    CHECK(stream.next().has_value());
    stream = model.predict_stream(x, by_four);
    CHECK(stream.next()->shape() == Shape{4, 1});
  }
  CHECK(recorder->events == Texts{"predict_begin", "predict_batch_begin 0", "predict_batch_end 0", "predict_end"});
  CHECK(model.predict(x, by_four).shape() == Shape{10, 1});
}

TEST_CASE("a prediction stream without a request calls no hooks", "[predict_stream]") {
  Sequential model(two_dense());
  const auto recorder = std::make_shared<Recorder>();
  model.predict_stream(x, {.verbose = 0, .callbacks = {recorder}}).close();
  static_cast<void>(model.predict_stream(x, {.verbose = 0, .callbacks = {recorder}}));
  CHECK(recorder->events.empty());
}

TEST_CASE("between two batches the model may be trained: the next has the new weights", "[predict_stream]") {
  Sequential model(two_dense());
  model.compile(mse());
  const Tensor y = signs_of(x);
  PredictionStream stream = model.predict_stream(x, {.batch_size = 5, .verbose = 0});
  const auto first = stream.next();
  CHECK(numbers(*first) == numbers(model.predict_on_batch(x.rows(0, 5))));
  model.fit(x, y, {.epochs = 3, .verbose = 0});
  model.compile(mse(0.2));
  model.evaluate(x, y, {.verbose = 0});
  CHECK(numbers(*first) != numbers(model.predict_on_batch(x.rows(0, 5))));
  CHECK(numbers(*stream.next()) == numbers(model.predict_on_batch(x.rows(5, 10))));
  CHECK_FALSE(stream.next().has_value());
}

TEST_CASE("several prediction streams of a model alternate, within the hooks of a fit too", "[predict_stream]") {
  Sequential model(two_dense());
  model.compile(mse());
  const std::vector<double> expected = numbers(model.predict(x, by_four));
  PredictionStream one = model.predict_stream(x, by_four), other = model.predict_stream(x, {.verbose = 0});
  const auto begin = one.next();
  CHECK(numbers(*other.next()) == numbers(model.predict(x, {.verbose = 0})));
  CHECK(numbers(*one.next()) == numbers(model.predict_on_batch(x.rows(4, 8))));
  std::vector<double> within;
  model.fit(x, signs_of(x), {.verbose = 0, .callbacks = {callbacks::lambda({.on_epoch_begin = [&](int, Logs&) {
                                             within = rows_of(model.predict_stream(x, by_four));
                                           }})}});
  CHECK(within == expected);
}

TEST_CASE("a prediction stream of several outputs yields a list of tensors for each batch", "[predict_stream]") {
  Functional model = one_and_two();
  std::vector<std::vector<Shape>> shapes;
  for (const std::vector<Tensor>& batch : model.predict_outputs_stream(x, {.batch_size = 6, .verbose = 0}))
    shapes.push_back({batch.at(0).shape(), batch.at(1).shape()});
  CHECK(shapes == std::vector<std::vector<Shape>>{{{6, 1}, {6, 2}}, {{4, 1}, {4, 2}}});
  CHECK_THAT(error_of([&] { model.predict_stream(x, by_four).next(); }),
             ContainsSubstring("a model with 2 outputs") && ContainsSubstring("predict_outputs_stream()"));
}

TEST_CASE("an error in a prediction stream is thrown by the request, and ends the stream", "[predict_stream]") {
  Sequential model(summing_unit());
  PredictionStream wrong = model.predict_stream(x, {.batch_size = 0, .verbose = 0});
  CHECK_THROWS_AS(wrong.next(), Error);
  CHECK_FALSE(wrong.next().has_value());
  PredictionStream breaks = model.predict_stream(breaking_after(2, x), {.verbose = 0});
  CHECK(breaks.next().has_value());
  CHECK(breaks.next().has_value());
  CHECK_THROWS_WITH(breaks.next(), "the source is dry");
  CHECK_FALSE(breaks.next().has_value());
  model.compile({.loss = "mse", .steps_per_execution = 5});
  PredictionStream broken_off = model.predict_stream(breaking_after(2, x), {.verbose = 0});  // after two of five
  CHECK_THROWS_WITH(broken_off.next(), "the source is dry");
  CHECK_FALSE(broken_off.next().has_value());
  const Generator nothing = []() -> std::optional<Batch> { return {}; };
  CHECK_THROWS_AS(model.predict_stream(nothing, {.verbose = 0}).next(), Error);
}

TEST_CASE("a prediction stream allows one request at a time, and none within a step", "[predict_stream]") {
  Sequential model(two_dense());
  PredictionStream* own = nullptr;
  std::string told;
  PredictionStream stream = model.predict_stream(
      x, {.verbose = 0, .callbacks = {callbacks::lambda({.on_predict_batch_end = [&](std::int64_t, Logs&) {
                          told = error_of([&] { own->next(); });
                        }})}});
  own = &stream;
  CHECK(stream.next().has_value());
  CHECK_THAT(told, ContainsSubstring("expected one at a time"));

  struct Curious : Sequential {
    using Sequential::Sequential;
    Outputs predict_step(const StepData& data) override {
      other->next();
      return Sequential::predict_step(data);
    }
    PredictionStream* other = nullptr;
  } curious(two_dense());
  PredictionStream begun = model.predict_stream(x, by_four);
  CHECK(begun.next().has_value());
  curious.other = &begun;
  CHECK_THAT(error_of([&] { curious.predict(x, by_four); }),
             ContainsSubstring("Detected a call to `Model.predict_stream` inside a step"));
}

TEST_CASE("a prediction stream awaits asynchronous batches", "[predict_stream]") {
  Sequential model(two_dense());
  EventLoop loop;
  OutputsStream stream = model.predict_outputs_stream(late(loop), {.verbose = 0});
  std::vector<double> rows;
  for (bool more = true; more;) {
    const auto consume = [&]() -> Task<> {
      const std::optional<std::vector<Tensor>> outputs = co_await stream.next_task();
      more = outputs.has_value();
      if (more)
        for (const double number : numbers(outputs->front())) rows.push_back(number);
    };
    PendingPtr pending = started(consume());
    while (pending && !pending->ready()) {
      CHECK_THAT(error_of([&] { stream.next(); }), ContainsSubstring("another is pending"));
      REQUIRE_FALSE(loop.waiting.empty());
      loop.turn();
    }
    if (pending) pending->rethrow();
  }
  CHECK(rows == numbers(model.predict(x, by_four)));
}

TEST_CASE("a waiting prediction stream may be destroyed, and a synchronous request of it is an error",
          "[predict_stream]") {
  Sequential model(two_dense());
  EventLoop loop;
  PredictionStream stream = model.predict_stream(late(loop), {.verbose = 0});
  CHECK_THAT(error_of([&] { stream.next(); }), ContainsSubstring("still pending"));
  while (!loop.waiting.empty()) loop.turn();  // the batch arrives, without a consumer
  CHECK(stream.next().has_value());
  PredictionStream dropped = model.predict_stream(late(loop), {.verbose = 0});
  CHECK_THROWS_AS(dropped.next(), Error);
}

}  // namespace etude
