#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>

#include "data_samples.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/data/detail/tensor_like_adapter.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

Record run(std::unique_ptr<DataAdapter> adapter, DataHandlerOptions options) {
  Record record;
  options.warn = [&](std::string_view text) { record.warning += text; };
  DataHandler data(std::move(adapter), options);
  loop(data, record).get();
  return record;
}

std::unique_ptr<DataAdapter> array_adapter(std::int64_t samples, const TensorLikeOptions& options = {}) {
  return std::make_unique<TensorLikeAdapter>(Batch{{counting(samples, 1)}, {}, {}}, options);
}

std::unique_ptr<DataAdapter> generator_adapter(int count, const GeneratorOptions& options = {}) {
  return std::make_unique<GeneratorAdapter>(generator_of(count), options);
}

/// A sequence of `count` batches, which restarts with every epoch.
struct RestartingAdapter : DataAdapter {
  int count, next = 0;
  Batch batch;
  Indices* begun;
  RestartingAdapter(int n, Indices* epochs) : count(n), begun(epochs) {}
  std::optional<std::int64_t> size() const override { return count; }
  Passes passes() const override { return Passes::each_epoch; }
  void begin_epoch(int epoch) override {
    next = 0;
    begun->push_back(epoch);
  }
  PendingPtr fetch() override { return nullptr; }
  const Batch* consume() override {
    if (next == count) return nullptr;
    batch = single(next++);
    return &batch;
  }
  const Batch* peek() override { return &batch; }
};

}  // namespace

TEST_CASE("data handler: epochs is the index after the last one, not a count (L-6)", "[data]") {
  CHECK(run(array_adapter(4), {.epochs = 3}).epochs == iota(3));
  CHECK(run(array_adapter(4), {.initial_epoch = 1, .epochs = 2}).epochs == Indices{1});
  CHECK(run(array_adapter(4), {.initial_epoch = 5, .epochs = 2}).epochs.empty());
}

TEST_CASE("data handler: an epoch resumed at its index has the same shuffle", "[data]") {
  const TensorLikeOptions options{.batch_size = 1, .shuffle = Shuffle::samples, .seed = 7};
  const Record whole = run(array_adapter(20, options), {.epochs = 3});
  const Record resumed = run(array_adapter(20, options), {.initial_epoch = 2, .epochs = 3});
  CHECK(resumed.seen == Indices(whole.seen.begin() + 40, whole.seen.end()));
}

TEST_CASE("data handler: executions of N steps, with a shorter last one (L-12)", "[data]") {
  const Record record = run(array_adapter(7, {.batch_size = 1}), {.steps_per_execution = 3});
  CHECK(record.begins == Indices{0, 3, 6});
  CHECK(record.ends == Indices{2, 5, 6});
  CHECK(record.seen == iota(7));
}

TEST_CASE("data handler: N is limited to the steps of an epoch (L-13)", "[data]") {
  const Record record = run(array_adapter(7, {.batch_size = 1}), {.epochs = 2, .steps_per_execution = 100});
  CHECK(record.begins == Indices{0, 0});
  CHECK(record.ends == Indices{6, 6});
}

TEST_CASE("data handler: any N gives the same batches (L-14)", "[data]") {
  const TensorLikeOptions options{.batch_size = 3, .shuffle = Shuffle::samples};
  const Record one = run(array_adapter(31, options), {.epochs = 3});
  for (std::int64_t n : {2, 3, 5, 11, 12}) {
    const Record many = run(array_adapter(31, options), {.epochs = 3, .steps_per_execution = n});
    CHECK(many.seen == one.seen);
  }
}

TEST_CASE("data handler: with unknown size and N = 1 the first end defines the epoch (L-16)", "[data]") {
  DataHandler data(generator_adapter(6), {});
  CHECK_FALSE(data.inferred_steps());
  Record record;
  loop(data, record).get();
  CHECK(record.ends == iota(6));
  CHECK(data.inferred_steps() == 6);
  CHECK(data.stopped());
  CHECK_FALSE(data.insufficient());
}

TEST_CASE("data handler: with unknown size and N steps the last execution counts its batches (L-13)", "[data]") {
  for (int count : {6, 7, 8}) {
    DataHandler data(generator_adapter(count), {.steps_per_execution = 3});
    Record record;
    loop(data, record).get();
    CHECK(record.seen == iota(count));
    CHECK(data.inferred_steps() == count);
    CHECK(record.begins == (count == 6 ? Indices{0, 3} : Indices{0, 3, 6}));
    CHECK(record.ends.back() == count - 1);
  }
}

TEST_CASE(
    "data handler: the first end gives no warning; a further epoch has no data and ends the training (L-16, L-19)",
    "[data]") {
  const Record record = run(generator_adapter(3), {.epochs = 4});
  CHECK(record.seen == iota(3));
  CHECK(record.epochs == iota(2));
  CHECK(record.batches_per_epoch == Indices{3, 0});
  CHECK(record.warning.find("(in this case, 12 batches)") != std::string::npos);
  CHECK(run(generator_adapter(3), {.epochs = 1}).warning.empty());
}

TEST_CASE("data handler: a generator continues after the last epoch (L-19)", "[data]") {
  const int workers = GENERATE(0, 1);
  const Record record = run(generator_adapter(10, {.workers = workers}), {.epochs = 3, .steps_per_epoch = 3});
  CHECK(record.seen == iota(9));
  CHECK(record.warning.empty());
}

TEST_CASE("data handler: exhausted data warns with the numbers and stops after this epoch (L-15)", "[data]") {
  const Record record = run(generator_adapter(5), {.epochs = 4, .steps_per_epoch = 3});
  CHECK(record.epochs == iota(2));
  CHECK(record.batches_per_epoch == Indices{3, 2});
  CHECK(record.warning ==
        "Your input ran out of data; interrupting training. Make sure that your dataset or generator can generate at "
        "least "
        "`steps_per_epoch * epochs` batches (in this case, 12 batches). You may need to use the repeat() function when "
        "building your dataset.");
}

TEST_CASE("data handler: a warning names the interrupted process and the option of the requested batches", "[data]") {
  const auto warning = [](Purpose purpose) {
    return run(generator_adapter(2), {.steps_per_epoch = 3, .purpose = purpose}).warning;
  };
  CHECK_THAT(warning(Purpose::validation),
             ContainsSubstring("Your validation input ran out of data; interrupting validation.") &&
                 ContainsSubstring("at least `validation_steps` batches (in this case, 3 batches)"));
  CHECK_THAT(warning(Purpose::evaluation), ContainsSubstring("Your input ran out of data; interrupting evaluation.") &&
                                               ContainsSubstring("at least `steps` batches"));
  CHECK_THAT(warning(Purpose::prediction), ContainsSubstring("interrupting prediction."));
}

TEST_CASE("data handler: data that is exhausted within an execution reports the last step that ran (L-15)", "[data]") {
  const Record record = run(generator_adapter(5), {.steps_per_epoch = 9, .steps_per_execution = 3});
  CHECK(record.begins == Indices{0, 3});
  CHECK(record.ends == Indices{2, 4});
}

TEST_CASE("data handler: arrays with steps are one stream of epochs x batches (L-18)", "[data]") {
  SECTION("epoch 2 continues where epoch 1 stopped") {
    const Record record = run(array_adapter(10, {.batch_size = 1}), {.epochs = 4, .steps_per_epoch = 7});
    Indices expected;
    for (int i = 0; i < 28; ++i) expected.push_back(i % 10);
    CHECK(record.seen == expected);
    CHECK(record.batches_per_epoch == Indices{7, 7, 7, 7});
    CHECK(record.warning.empty());
  }
  SECTION("epochs longer than passes exhaust the stream") {
    const Record record = run(array_adapter(10, {.batch_size = 1}), {.epochs = 3, .steps_per_epoch = 14});
    CHECK(record.seen.size() == 30);
    CHECK(record.batches_per_epoch == Indices{14, 14, 2});
    CHECK(record.warning.find("(in this case, 42 batches)") != std::string::npos);
  }
  SECTION("each pass has its own permutation, by its number") {
    const TensorLikeOptions options{.batch_size = 1, .shuffle = Shuffle::samples};
    const Record cut = run(array_adapter(10, options), {.epochs = 4, .steps_per_epoch = 5});
    const Record whole = run(array_adapter(10, options), {.epochs = 2});
    CHECK(cut.seen == whole.seen);
  }
  SECTION("as many steps as batches are one pass per epoch") {
    const Record record = run(array_adapter(10, {.batch_size = 5}), {.epochs = 3, .steps_per_epoch = 2});
    CHECK(record.seen == Indices{0, 5, 0, 5, 0, 5});
  }
}

TEST_CASE("data handler: sequences restart with every epoch, for any number of steps (L-19)", "[data]") {
  Indices begun;
  CHECK(run(std::make_unique<RestartingAdapter>(5, &begun), {.initial_epoch = 2, .epochs = 4, .steps_per_epoch = 3})
            .seen == Indices{0, 1, 2, 0, 1, 2});
  CHECK(begun == Indices{2, 3});
}

TEST_CASE("data handler: one handler serves every validation of a fit (L-11)", "[data]") {
  DataHandler data(array_adapter(5, {.batch_size = 2}), {});
  for (int validation = 0; validation < 3; ++validation) {
    Record record;
    loop(data, record).get();
    CHECK(record.seen == Indices{0, 2, 4});
  }
  DataHandler some(array_adapter(5, {.batch_size = 2}), {.steps_per_epoch = 2});
  for (int validation = 0; validation < 3; ++validation) {
    Record record;
    loop(some, record).get();
    CHECK(record.seen == Indices{0, 2});
  }
}

TEST_CASE("data handler: an exhausted generator is an error, not an empty epoch", "[data]") {
  DataHandler data(generator_adapter(3), {});
  Record record;
  loop(data, record).get();
  CHECK_THROWS_WITH(loop(data, record).get(), ContainsSubstring("[data] no batch at all"));
}

TEST_CASE("data handler: an exception of the data is rethrown, and no data follows", "[data]") {
  const int workers = GENERATE(0, 1);
  Generator generator = [calls = 0]() mutable -> std::optional<Batch> {
    if (++calls == 2) throw std::runtime_error("broken");
    return single(calls);
  };
  DataHandler data(std::make_unique<GeneratorAdapter>(generator, GeneratorOptions{.workers = workers}),
                   {.epochs = 2, .steps_per_epoch = 4});
  Record record;
  CHECK_THROWS_WITH(loop(data, record).get(), "broken");
  CHECK(record.seen == Indices{1});
  CHECK_THROWS_WITH(loop(data, record).get(), ContainsSubstring("no batch at all"));
}

TEST_CASE("data handler: exhausted data is reported by insufficient()", "[data]") {
  DataHandler data(generator_adapter(1), {.steps_per_epoch = 2, .warn = [](std::string_view) {}});
  Record record;
  loop(data, record).get();
  CHECK(data.stopped());
  CHECK(data.insufficient());
}

TEST_CASE("data handler: numbers below 1 and missing data are errors", "[data]") {
  CHECK_THROWS_WITH(DataHandler(nullptr, {}), ContainsSubstring("[data] missing data"));
  CHECK_THROWS_WITH(DataHandler(array_adapter(3), {.steps_per_epoch = 0}),
                    ContainsSubstring("steps_per_epoch 0 - expected 1 or more"));
  CHECK_THROWS_WITH(DataHandler(array_adapter(3), {.steps_per_execution = -1}),
                    ContainsSubstring("steps_per_execution -1"));
}

}  // namespace etude
