#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "etude/data/detail/prefetch.hpp"

namespace etude {

TEST_CASE("prefetch: items come in order, with and without a thread", "[data]") {
  const bool threaded = GENERATE(false, true);
  std::array<int, Prefetcher::slots> items{};
  int made = 0;
  Prefetcher prefetcher(
      [&](std::size_t slot) {
        if (made == 500) return false;
        items[slot] = made++;
        return true;
      },
      threaded);
  for (int i = 0; i < 500; ++i) {
    prefetcher.fetch();
    const auto slot = prefetcher.consume();
    REQUIRE(slot);
    REQUIRE(items[*slot] == i);
  }
  CHECK_FALSE(prefetcher.consume());
  CHECK_FALSE(prefetcher.consume());
}

TEST_CASE("prefetch: take rethrows an exception once, and no items follow", "[data]") {
  const bool threaded = GENERATE(false, true);
  int made = 0;
  Prefetcher prefetcher(
      [&](std::size_t) {
        if (++made == 3) throw std::runtime_error("third");
        return true;
      },
      threaded);
  CHECK(prefetcher.consume());
  CHECK(prefetcher.consume());
  CHECK_THROWS_WITH(prefetcher.consume(), "third");
  CHECK_FALSE(prefetcher.consume());
  prefetcher.pause();
  CHECK(prefetcher.consume());
}

#ifdef ETUDE_PREFETCH
TEST_CASE("prefetch: the next item is made while this one is used", "[data]") {
  std::atomic<int> made{0};
  const auto here = std::this_thread::get_id();
  std::atomic<bool> elsewhere{true};
  Prefetcher prefetcher(
      [&](std::size_t) {
        elsewhere = elsewhere && std::this_thread::get_id() != here;
        return ++made <= 2;
      },
      true);
  prefetcher.consume();
  while (made < 2) std::this_thread::yield();
  CHECK(elsewhere);
}

TEST_CASE("prefetch: can be destroyed and paused while an item is being made", "[data]") {
  using std::chrono::milliseconds;
  for (const bool consumed : {false, true})
    for (const bool paused : {false, true}) {
      std::atomic<int> made{0};
      const auto make = [&](std::size_t) {
        std::this_thread::sleep_for(milliseconds(5));
        return ++made > 0;
      };
      int before = 0;
      {
        Prefetcher prefetcher(make, true);
        prefetcher.fetch();
        if (consumed) {
          prefetcher.consume();
          prefetcher.fetch();
        }
        if (paused) {
          prefetcher.pause();
          before = made;
          std::this_thread::sleep_for(milliseconds(20));
          CHECK(made == before);
        }
      }
      before = made;
      std::this_thread::sleep_for(milliseconds(20));
      CHECK(made == before);
    }
}
#endif

// ---- validation_split ----

}  // namespace etude
