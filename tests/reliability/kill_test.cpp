#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "checkpoint_samples.hpp"
#include "scratch_folder.hpp"

#if defined(__linux__) && !defined(__EMSCRIPTEN__)

#include "etude/base/random.hpp"
#include "reliability/child.hpp"

// A child process saves checkpoints, and is killed.
namespace etude {
namespace {

using namespace testing;

}  // namespace

TEST_CASE("the process that saves until it is killed", "[.][saver]") {
  const char* folder = Child::folder();
  if (!folder) return;  // only for the tests below
  CheckpointStore store(folder);
  const auto loaded = store.load_newest();
  for (std::int64_t step = loaded ? loaded->step + 1 : 0;; ++step) {
    store.save_later(checkpoint_of(step));
    if (step % 3 == 0) store.wait();
    Child::tell(step % 3 == 0 ? step : step - 1);  // save_later has waited for the one before
  }
}

TEST_CASE("reliability: a process killed at any moment continues from the last confirmed checkpoint, or the next one",
          "[reliability]") {
  const ScratchFolder scratch("etude_kill_test", ScratchFolder::memory);
  const std::string folder = scratch.path() + "/c";
  Random random(8, RandomStream::step);
  const int kills = rounds(20, 200);
  int good = 0;
  for (int i = 0; i < kills; ++i) {
    Child saver("[saver]", folder);
    std::int64_t last = saver.next();
    REQUIRE(last >= 0);
    ::usleep(random.below(20'000));
    saver.kill();
    for (std::int64_t step; (step = saver.next()) >= 0;) last = step;
    Warnings warnings;
    const auto loaded = load_newest_checkpoint(folder, {}, warnings.sink());
    // One more save may have been completed without a report, and another one begun.
    good += loaded && warnings.lines.empty() && loaded->step >= last && loaded->step <= last + 2 &&
            is_checkpoint_of(*loaded, loaded->step);
  }
  CHECK(good == kills);
}

TEST_CASE("reliability: while a process saves in a folder, another one is refused there, and may read",
          "[reliability]") {
  const ScratchFolder scratch("etude_kill_test", ScratchFolder::memory);
  const std::string folder = scratch.path() + "/c";
  Child saver("[saver]", folder);
  REQUIRE(saver.next() >= 0);
  for (int i = 0; i < 50; ++i)
    CHECK_THAT(error_of([&] { CheckpointStore store(folder); }),
               Catch::Matchers::ContainsSubstring("is locked by another process"));
  saver.kill();
  CheckpointStore store(folder);
  CHECK(store.load_newest());
}

}  // namespace etude

#endif
