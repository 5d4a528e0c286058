#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "data_samples.hpp"
#include "etude/base/detail/worker_thread.hpp"
#include "etude/base/threads.hpp"
#include "etude/data/dataset.hpp"
#include "etude/data/detail/ordered_queue.hpp"
#include "etude/data/detail/prefetch.hpp"
#include "etude/data/detail/sequence_adapter.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

/// Batches single(0) … single(count - 1), and the threads that requested them.
struct Counted : Sequence {
  std::int64_t count;
  int epoch_ends = 0;
  std::atomic<int> calls = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;

  explicit Counted(std::int64_t n) : count(n) {}
  std::int64_t size() const override { return count; }
  Batch batch(std::int64_t index) override {
    ++calls;
    // Later batches are available sooner.
    for (std::int64_t i = index; i < count; ++i) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return single(static_cast<double>(index));
  }
  void on_epoch_end() override { ++epoch_ends; }
};

/// All batches of a pass.
Indices pass(DataAdapter& adapter, int epoch) {
  Indices seen;
  adapter.begin_epoch(epoch);
  for (;;) {
    CHECK_FALSE(adapter.fetch());
    const Batch* batch = adapter.consume();
    if (!batch) return seen;
    seen.push_back(static_cast<std::int64_t>(batch->x[0].at(0)));
  }
}

}  // namespace

#ifdef ETUDE_PREFETCH
TEST_CASE("sequences, prefetching and kernels work with any number of threads that start, even none",
          "[data][threads]") {
  const int starting = GENERATE(0, 1, 3);
  struct Refused {
    explicit Refused(int starting) {
      thread_fault() = [left = std::make_shared<std::atomic<int>>(starting)] { return left->fetch_sub(1) <= 0; };
    }
    ~Refused() { thread_fault() = {}; }
  } const refused(starting);
  const auto numbers = std::make_shared<Counted>(50);
  SequenceAdapter adapter(numbers, {.workers = 200, .max_queue_size = 100});
  CHECK(pass(adapter, 0) == iota(50));
  CHECK(numbers->threads.size() <= static_cast<std::size_t>(std::max(starting, 1)));
  int made = 0;
  Prefetcher prefetcher([&](std::size_t) { return ++made <= 3; }, true);
  while (prefetcher.consume()) continue;
  CHECK(made == 4);
  Indices seen;
  for (const Batch& element : Dataset::range(5).prefetch(3))
    seen.push_back(static_cast<std::int64_t>(element.x[0].at(0)));
  CHECK(seen == iota(5));
  std::array<std::atomic<int>, 20> done{};
  ThreadPool pool(8);
  pool.run(20, [](void* context, int part) { ++static_cast<std::atomic<int>*>(context)[part]; }, done.data());
  CHECK(std::ranges::all_of(done, [](const std::atomic<int>& count) { return count == 1; }));
}
#endif

TEST_CASE("sequences: batches are in order, for any number of workers", "[data]") {
  const int workers = GENERATE(0, 1, 2, 4);
  const std::int64_t queue = GENERATE(1, 3, 10, 100);
  const auto numbers = std::make_shared<Counted>(50);
  SequenceAdapter adapter(numbers, {.workers = workers, .max_queue_size = queue});
  CHECK(adapter.size() == 50);
  CHECK(adapter.passes() == Passes::each_epoch);
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(pass(adapter, epoch) == iota(50));
#ifdef ETUDE_PREFETCH
  CHECK(numbers->threads.contains(std::this_thread::get_id()) == (workers <= 1));
#endif
}

TEST_CASE("sequences: the shuffled order of batches depends on seed and epoch (L-31)", "[data]") {
  const int workers = GENERATE(1, 3);
  const SequenceOptions options{.shuffle = true, .seed = 4, .workers = workers};
  SequenceAdapter adapter(std::make_shared<Counted>(40), options), again(std::make_shared<Counted>(40), options);
  const Indices first = pass(adapter, 0), second = pass(adapter, 1);
  CHECK(std::ranges::is_permutation(first, iota(40)));
  CHECK(first != iota(40));
  CHECK(second != first);
  CHECK(pass(again, 1) == second);
  CHECK(pass(again, 0) == first);
}

TEST_CASE("sequences: at most max_queue_size batches are made in advance", "[data]") {
  const auto numbers = std::make_shared<Counted>(100);
  SequenceAdapter adapter(numbers, {.workers = 3, .max_queue_size = 4});
  for (int i = 0; i < 20; ++i) {
    REQUIRE(adapter.consume());
    CHECK(numbers->calls <= i + 1 + 4);
  }
}

TEST_CASE("sequences: the first batch is peeked at, not made twice", "[data]") {
  const auto numbers = std::make_shared<Counted>(5);
  SequenceAdapter adapter(numbers);
  CHECK(adapter.peek()->x[0].at(0) == 0);
  CHECK(pass(adapter, 0) == iota(5));
  CHECK(numbers->calls == 5);
}

TEST_CASE("sequences: on_epoch_end comes after every epoch, and may change the size", "[data]") {
  const int workers = GENERATE(1, 2);
  struct Growing : Counted {
    using Counted::Counted;
    void on_epoch_end() override {
      ++epoch_ends;
      count += 2;
    }
  };
  const auto growing = std::make_shared<Growing>(3);
  DataHandler data(std::make_unique<SequenceAdapter>(growing, SequenceOptions{.workers = workers}),
                   {.epochs = 2, .steps_per_epoch = 3});
  Record record;
  loop(data, record).get();
  CHECK(record.seen == Indices{0, 1, 2, 0, 1, 2});
  CHECK(growing->epoch_ends == 2);
  SequenceAdapter adapter(growing, {.workers = workers});
  CHECK(pass(adapter, 5) == iota(7));
}

TEST_CASE("sequences: an exception is rethrown at its batch, and no batches follow", "[data]") {
  const int workers = GENERATE(1, 3);
  struct Broken : Counted {
    using Counted::Counted;
    Batch batch(std::int64_t index) override {
      if (index == 3) throw std::out_of_range("mine");
      return Counted::batch(index);
    }
  };
  SequenceAdapter adapter(std::make_shared<Broken>(10), {.workers = workers});
  for (int i = 0; i < 3; ++i) CHECK(adapter.consume()->x[0].at(0) == i);
  CHECK_THROWS_WITH(adapter.consume(), "mine");
  CHECK_FALSE(adapter.consume());
}

TEST_CASE("sequences: can be dropped and restarted in the middle of an epoch", "[data]") {
  const int workers = GENERATE(1, 3);
  const auto numbers = std::make_shared<Counted>(30);
  SequenceAdapter adapter(numbers, {.workers = workers});
  for (int epoch = 0; epoch < 4; ++epoch) {
    adapter.begin_epoch(epoch);
    for (int i = 0; i < 7; ++i) CHECK(adapter.consume()->x[0].at(0) == i);
  }
}

TEST_CASE("sequences: a restored one continues with the next batch", "[data]") {
  const int workers = GENERATE(1, 3);
  const SequenceOptions options{.shuffle = true, .seed = 1ull << 63 | 9, .workers = workers};
  SequenceAdapter adapter(std::make_shared<Counted>(12), options);
  const Indices whole = pass(adapter, 2);
  for (std::ptrdiff_t stop = 0; stop <= 12; ++stop) {
    SequenceAdapter before(std::make_shared<Counted>(12), options);
    before.begin_epoch(2);
    for (std::ptrdiff_t i = 0; i < stop; ++i) before.consume();
    before.fetch();  // batches in advance do not count
    SequenceAdapter after(std::make_shared<Counted>(12), {.shuffle = true, .seed = 0, .workers = workers});
    after.restore(before.state());
    Indices rest;
    while (const Batch* batch = after.consume()) rest.push_back(static_cast<std::int64_t>(batch->x[0].at(0)));
    CHECK(rest == Indices(whole.begin() + stop, whole.end()));
  }
  CHECK_THROWS_WITH(adapter.restore({1, 2}), ContainsSubstring("a state of 2 numbers - expected 4"));
}

TEST_CASE("sequences: wrong options are refused", "[data]") {
  CHECK_THROWS_WITH(SequenceAdapter(nullptr), ContainsSubstring("[Sequence] no sequence"));
  CHECK_THROWS_WITH(SequenceAdapter(std::make_shared<Counted>(1), {.workers = -1}), ContainsSubstring("workers = -1"));
  CHECK_THROWS_WITH(SequenceAdapter(std::make_shared<Counted>(1), {.max_queue_size = 0}),
                    ContainsSubstring("max_queue_size = 0"));
  CHECK_THROWS_WITH(SequenceAdapter(std::make_shared<Counted>(-1)), ContainsSubstring("size() returned -1"));
}

TEST_CASE("ordered queues: no items are made after the end", "[data]") {
  std::atomic<int> calls = 0;
  OrderedQueue queue([&](std::int64_t number) { return ++calls, number < 5 ? std::optional(single(1)) : std::nullopt; },
                     2, 50);
  CHECK_FALSE(queue.consume());  // not started
  queue.start(0);
  for (int i = 0; i < 5; ++i) CHECK(queue.consume());
  CHECK_FALSE(queue.consume());
  CHECK_FALSE(queue.consume());
  CHECK(calls <= 7);  // the five, and each worker may request one batch after the end
}

}  // namespace etude
