#include <catch2/catch_test_macros.hpp>
#include <new>

#include "allocation_counter.hpp"
#include "checkpoint_samples.hpp"
#include "etude/base/memory_vfs.hpp"

// Each request for memory fails once.
namespace etude {
namespace {

using namespace testing;

/// Requests from this size on depend on the file. Smaller ones are for names, and by nlohmann-json when it destroys a
/// value, where C++ cannot report failures.
constexpr std::size_t at_least = 512;

/// Runs the action while the n-th request fails, for every n; after each, `complaint` returns the fault.
template <class Work, class Complaint> void refuse_every_request(Work&& work, Complaint&& complaint) {
  int n = 0;
  for (bool reached = true; reached;) {
    bool failed = false;
    {
      const FailingAllocation failing(++n, at_least);
      try {
        work();
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      reached = failing.reached();
    }
    INFO("request " << n);
    REQUIRE(failed == reached);
    if (const std::string wrong = complaint(failed); !wrong.empty()) FAIL(wrong);
  }
  CHECK(n > 5);
}

}  // namespace

TEST_CASE("reliability: a save without memory throws, leaks none, and the previous checkpoint is intact",
          "[reliability]") {
  const auto files = std::make_shared<MemoryVfs>();
  CheckpointStore store("c", {.keep_newest = 1, .files = files});
  const Checkpoint checkpoint = checkpoint_of(2);
  store.save(checkpoint);
  const std::string name = store.save(checkpoint);
  const std::size_t live = live_allocations();
  refuse_every_request([&] { store.save(checkpoint); },
                       [&](bool) -> std::string {
                         const auto loaded = load_newest_checkpoint("c", files);
                         if (!loaded || !is_checkpoint_of(*loaded, 2)) return "the checkpoint before is gone";
                         store.save(checkpoint);
                         return "";
                       });
  for (int i = 0; i < 4 && store.save(checkpoint) != name; ++i) continue;  // a name takes memory too
  CHECK(live_allocations() == live);
}

TEST_CASE("reliability: a load without memory throws, leaks none, and succeeds once there is memory", "[reliability]") {
  const auto files = std::make_shared<MemoryVfs>();
  CheckpointStore("c", {.files = files}).save(checkpoint_of(1));
  load_newest_checkpoint("c", files);
  const std::size_t live = live_allocations();
  refuse_every_request([&] { load_newest_checkpoint("c", files); },
                       [&](bool) { return live_allocations() == live ? "" : "memory is lost"; });
  CHECK(is_checkpoint_of(load_newest_checkpoint("c", files).value(), 1));
}

}  // namespace etude
