#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <coroutine>
#include <exception>
#include <stdexcept>

#include "data_samples.hpp"
#include "etude/data/batch_generator.hpp"
#include "etude/data/detail/generator_adapter.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

/// A promise of another language; the test resumes the waiting coroutines.
struct Promise {
  bool ready = false;
  std::coroutine_handle<> waiting;
  std::exception_ptr error;
  void settle() {
    ready = true;
    if (waiting) std::exchange(waiting, {}).resume();
  }
};

struct Later : Pending {
  std::shared_ptr<Promise> promise;
  explicit Later(std::shared_ptr<Promise> p) : promise(std::move(p)) {}
  bool ready() const override { return promise->ready; }
  void on_ready(std::coroutine_handle<> resume) override { promise->waiting = resume; }
  void rethrow() override {
    if (promise->error) std::rethrow_exception(promise->error);
  }
};

struct AsynchronousSource : BatchSource {
  std::shared_ptr<Promise>* promise;
  int count, next = 0;
  AsynchronousSource(int n, std::shared_ptr<Promise>* p) : promise(p), count(n) {}
  PendingPtr fetch() override {
    *promise = std::make_shared<Promise>();
    return std::make_unique<Later>(*promise);
  }
  std::optional<Batch> consume() override {
    if (next == count) return {};
    return single(next++);
  }
};

/// Starts a coroutine and lets it wait, like an event loop.
struct Started {
  struct promise_type {
    Started get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Started start(Task<> task, bool& done, std::string& error) {
  try {
    co_await task;
  } catch (const std::exception& e) {
    error = e.what();
  }
  done = true;
}

/// Yields numbers in batches; reports its destruction, and throws at the number `breaks_at`.
BatchGenerator counter(int count, bool& gone, int breaks_at = -1) {
  struct Guard {
    bool& gone;
    ~Guard() { gone = true; }
  } guard{gone};
  for (int i = 0; i < count; ++i) {
    if (i == breaks_at) throw std::runtime_error("the disk is gone");
    co_yield single(i);
  }
}

}  // namespace

TEST_CASE("generators: one batch is peeked at, and no batch is lost or repeated", "[data]") {
  const int workers = GENERATE(0, 1, 4);
  int calls = 0;
  GeneratorAdapter adapter(generator_of(20, &calls), {.workers = workers});
  CHECK(calls == 1);
  CHECK(adapter.peek()->x[0].at(0) == 0);
  CHECK_FALSE(adapter.size());
  CHECK(adapter.passes() == Passes::one);
  for (int i = 0; i < 20; ++i) {
    if (i % 5 == 0) adapter.begin_epoch(i);  // continues (L-19)
    CHECK_FALSE(adapter.fetch());
    const Batch* batch = adapter.consume();
    REQUIRE(batch);
    CHECK(batch->x[0].at(0) == i);
  }
  CHECK_FALSE(adapter.consume());
  CHECK_FALSE(adapter.consume());
  CHECK_FALSE(adapter.peek());
  CHECK(calls == 21);
}

TEST_CASE("generators: an exception is rethrown, and no batches follow", "[data]") {
  const int workers = GENERATE(0, 1);
  int calls = 0;
  GeneratorAdapter adapter(
      [&calls]() -> std::optional<Batch> {
        if (++calls == 3) throw std::runtime_error("the disk is gone");
        return single(calls);
      },
      {.workers = workers});
  for (int i = 0; i < 2; ++i) {
    adapter.fetch();
    REQUIRE(adapter.consume());
  }
  CHECK_THROWS_WITH((adapter.fetch(), adapter.consume()), "the disk is gone");
  CHECK_FALSE((adapter.fetch(), adapter.consume()));
  CHECK(calls == 3);
}

TEST_CASE("generators: a coroutine is a generator, and exists while a copy of it does", "[data]") {
  const int workers = GENERATE(0, 1);
  bool gone = false;
  {
    GeneratorAdapter adapter(counter(3, gone), {.workers = workers});
    for (int i = 0; i < 3; ++i) {
      adapter.fetch();
      const Batch* batch = adapter.consume();
      REQUIRE(batch);
      CHECK(batch->x[0].at(0) == i);
    }
    CHECK_FALSE((adapter.fetch(), adapter.consume()));
  }
  CHECK(gone);

  gone = false;
  std::optional<BatchGenerator> abandoned(counter(3, gone));
  std::optional<BatchGenerator> copy(abandoned);
  CHECK((*abandoned)()->x[0].at(0) == 0);
  CHECK((*copy)()->x[0].at(0) == 1);
  abandoned.reset();
  CHECK_FALSE(gone);
  copy.reset();
  CHECK(gone);

  BatchGenerator breaks = counter(3, gone, 1);
  CHECK(breaks());
  CHECK_THROWS_WITH(breaks(), "the disk is gone");
  CHECK_FALSE(breaks());
}

TEST_CASE("generators: an exception in the first call is thrown by the constructor", "[data]") {
  CHECK_THROWS_WITH(GeneratorAdapter([]() -> std::optional<Batch> { throw std::runtime_error("no"); }), "no");
}

TEST_CASE("generators: can be dropped in the middle of an epoch", "[data]") {
  for (int workers : {0, 1}) {
    bool gone = false;
    {
      GeneratorAdapter adapter(counter(100, gone), {.workers = workers});
      for (int i = 0; i < 2; ++i) {
        adapter.fetch();
        adapter.consume();
      }
      CHECK_FALSE(gone);
    }
    CHECK(gone);
  }
}

TEST_CASE("generators: each batch is checked against itself and against the first", "[data]") {
  const auto second = [](const Batch& batch) {
    bool first = true;
    GeneratorAdapter adapter([&]() -> std::optional<Batch> {
      if (std::exchange(first, false)) return Batch{{counting(2, 3)}, {counting(2, 1, DType::int32)}, {}};
      return batch;
    });
    adapter.consume();
    adapter.fetch();
    adapter.consume();
  };
  CHECK_NOTHROW(second({{counting(5, 3, DType::float64)}, {counting(5, 1, DType::int32)}, {}}));
  CHECK_THROWS_WITH(second({{counting(2, 3)}, {counting(3, 1, DType::int32)}, {}}),
                    ContainsSubstring("[generator] Data cardinality is ambiguous: x sizes: 2; y sizes: 3"));
  CHECK_THROWS_WITH(second({{counting(2, 3)}, {}, {}}),
                    ContainsSubstring("a batch of 1 x, 0 y and 0 sample_weight tensors - expected 1, 1 and 0"));
  CHECK_THROWS_WITH(second({{counting(2, 3)}, {counting(2, 1, DType::uint8)}, {}}),
                    ContainsSubstring("tensor 1 of a batch is uint8 - expected int32 as in the first batch"));
  CHECK_THROWS_WITH(second({{counting(0, 3)}, {counting(0, 1, DType::int32)}, {}}), ContainsSubstring("is empty"));
  CHECK_THROWS_WITH(second({}), ContainsSubstring("no x"));
}

TEST_CASE("generators: floats are cast to floatx (L-38)", "[data]") {
  GeneratorAdapter adapter([] { return std::optional(Batch{{counting(2, 2, DType::float64)}, {}, {}}); });
  CHECK(adapter.peek()->x[0].dtype() == DType::float32);
}

TEST_CASE("generators: none, an empty one and a negative number of workers are errors", "[data]") {
  CHECK_THROWS_WITH(GeneratorAdapter(Generator{}), ContainsSubstring("[generator] no function"));
  CHECK_THROWS_WITH(GeneratorAdapter(std::unique_ptr<BatchSource>{}), ContainsSubstring("no source"));
  CHECK_THROWS_WITH(GeneratorAdapter(generator_of(0)), ContainsSubstring("no batch at all - expected at least one"));
  CHECK_THROWS_WITH(GeneratorAdapter(generator_of(1), {.workers = -1}), ContainsSubstring("workers -1"));
}

TEST_CASE("asynchronous generators: the loop waits for each batch and sees them all", "[data]") {
  std::shared_ptr<Promise> promise;
  DataHandler data(std::make_unique<GeneratorAdapter>(std::make_unique<AsynchronousSource>(5, &promise)), {});
  CHECK_FALSE(promise);  // nothing is requested before the first fetch
  Record record;
  bool done = false;
  std::string error;
  start(loop(data, record), done, error);
  for (int i = 0; i < 5; ++i) {
    CHECK(record.seen.size() == static_cast<std::size_t>(i));
    CHECK_FALSE(done);
    promise->settle();
  }
  promise->settle();
  CHECK(done);
  CHECK(error.empty());
  CHECK(record.seen == iota(5));
  CHECK(data.inferred_steps() == 5);
}

TEST_CASE("asynchronous generators: the first fetch gives a batch to build a model from", "[data]") {
  std::shared_ptr<Promise> promise;
  GeneratorAdapter adapter(std::make_unique<AsynchronousSource>(2, &promise));
  PendingPtr pending = adapter.fetch();
  REQUIRE(pending);
  promise->settle();
  REQUIRE(adapter.peek());
  CHECK_FALSE(adapter.fetch());  // it is available already
  CHECK(adapter.consume()->x[0].at(0) == 0);
  CHECK(adapter.fetch());
}

TEST_CASE("asynchronous generators: a rejected promise ends the loop with its error", "[data]") {
  std::shared_ptr<Promise> promise;
  DataHandler data(std::make_unique<GeneratorAdapter>(std::make_unique<AsynchronousSource>(5, &promise)), {});
  Record record;
  bool done = false;
  std::string error;
  start(loop(data, record), done, error);
  promise->settle();
  promise->error = std::make_exception_ptr(std::runtime_error("rejected"));
  promise->settle();
  CHECK(done);
  CHECK(error == "rejected");
  CHECK(record.seen == iota(1));
}

TEST_CASE("asynchronous generators: a caller that cannot wait gets an error", "[data]") {
  std::shared_ptr<Promise> promise;
  DataHandler data(std::make_unique<GeneratorAdapter>(std::make_unique<AsynchronousSource>(5, &promise)), {});
  Record record;
  CHECK_THROWS_WITH(loop(data, record).get(), ContainsSubstring("still pending"));
}

}  // namespace etude
