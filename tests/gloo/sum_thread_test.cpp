#include "gloo/sum_thread.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>
#include <vector>

namespace etude {
namespace {

std::vector<ReplicaSum> bucket_of(std::int64_t count) { return {{DType::float32, count, {}, {}}}; }

}  // namespace

TEST_CASE("sum thread: buckets are summed in the order of their starts, and each await returns after its bucket",
          "[gloo][threads]") {
  std::vector<std::int64_t> summed;
  std::atomic<int> count = 0;
  std::vector<std::vector<ReplicaSum>> buckets;
  for (int i = 0; i < 4; ++i) buckets.push_back(bucket_of(i));
  {
    SumThread thread([&](std::span<const ReplicaSum> bucket) {
      if (bucket.front().count % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      summed.push_back(bucket.front().count);
      ++count;
    });
    thread.await(0);  // of a number that was never started
    thread.await_all();
    for (int step = 0; step < 200; ++step) {
      for (int i = 0; i < 4; ++i) thread.start(buckets[static_cast<std::size_t>(i)], i);
      thread.await(2);
      CHECK(count >= 4 * step + 3);
      thread.await(0);
      if (step % 2 == 0) thread.await(3);
      if (step % 5 == 0) thread.await_all();
    }
  }  // waits for the rest
  REQUIRE(summed.size() == 800);
  for (std::size_t i = 0; i < summed.size(); ++i) REQUIRE(summed[i] == static_cast<std::int64_t>(i % 4));
}

}  // namespace etude
