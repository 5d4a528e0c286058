#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "checkpoint_samples.hpp"
#include "interrupted_runs.hpp"
#include "reliability/child.hpp"
#include "scratch_folder.hpp"

// Fits are interrupted at random moments and restarted by the same script.
namespace etude {
namespace {

using namespace testing;
using namespace samples;

}  // namespace

TEST_CASE(
    "reliability: a fit that is interrupted at any moments and restarted ends with the bits of an uninterrupted one",
    "[reliability]") {
  const std::string optimizer =
      GENERATE("sgd", "momentum", "rmsprop", "adam", "adamw", "adafactor", "schedule_free_adamw");
  INFO(optimizer);
  Random random(16, RandomStream::step);
  const int moments = rounds(data_kinds, 50);
  int good = 0;
  for (int i = 0; i < moments; ++i) {
    Script script{.optimizer = optimizer,
                  .data = static_cast<DataKind>(i % data_kinds),
                  .steps_per_execution = random.below(2) ? 1 : 4};
    const Outcome whole = script.run();
    script.backup = {.backup_dir = "backup", .files = std::make_shared<MemoryVfs>()};
    if (const std::uint32_t batches = random.below(6)) script.backup.save_freq = static_cast<int>(batches);
    std::vector<int> interruptions;
    for (std::uint32_t k = 0; k <= random.below(3); ++k)
      interruptions.push_back(static_cast<int>(random.below(static_cast<std::uint32_t>(whole.hooks))));
    const bool same = script.run_through(interruptions) == whole;
    INFO("data " << i % data_kinds << ", save_freq " << script.backup.save_freq.batches() << ", steps_per_execution "
                 << script.steps_per_execution << ", hooks " << interruptions.front() << " of " << whole.hooks);
    CHECK(same);
    good += same;
  }
  CHECK(good == moments);
}

#if defined(__linux__) && !defined(__EMSCRIPTEN__)

namespace {

const Script long_script{.optimizer = "adam", .epochs = 30, .patience = 30};

/// Reports each step; -2 announces a number, the final result.
class Teller : public Callback {
 public:
  void on_train_batch_end(std::int64_t step, Logs&) override { Child::tell(step); }
};

}  // namespace

TEST_CASE("the process that trains until it is killed", "[.][trainer]") {
  const char* folder = Child::folder();
  if (!folder) return;  // only for the test below
  Script script = long_script;
  script.backup = {.backup_dir = folder, .save_freq = 1};
  script.further = {std::make_shared<Teller>()};
  const std::int64_t result = script.run().fingerprint();
  Child::tell(-2);
  Child::tell(result);
}

TEST_CASE("reliability: a training process, killed at any moment and restarted, ends with the same bits",
          "[reliability]") {
  const std::int64_t wanted = long_script.run().fingerprint();
  Random random(18, RandomStream::step);
  int kills = 0, good = 0, ends = 0;
  const int planned = rounds(6, 100);
  while (kills < planned) {
    const ScratchFolder scratch("etude_resume_test", ScratchFolder::memory);
    const std::string folder = scratch.path() + "/backup";
    for (bool ended = false; !ended;) {
      Child trainer("[trainer]", folder);
      std::int64_t told = trainer.next();
      const bool kill = kills < planned && told >= 0;
      if (kill) {
        ::usleep(random.below(60'000));
        trainer.kill();
      }
      kills += kill;
      for (; told != -1; told = trainer.next()) {
        if (told != -2) continue;
        const std::int64_t result = trainer.next();
        ended = result != -1;  // it may have been killed in between
        good += result == wanted;
      }
      REQUIRE((kill || ended));
    }
    ++ends;
    CHECK_FALSE(std::filesystem::exists(folder));
  }
  CHECK(good == ends);
}

#endif

}  // namespace etude
