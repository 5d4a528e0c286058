#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "checkpoint_samples.hpp"
#include "interrupted_runs.hpp"

// Fits are interrupted at random moments and started again by the same script.
namespace etude {
namespace {

using namespace testing;
using namespace samples;

}  // namespace

TEST_CASE(
    "reliability: a fit that is interrupted at any moments and started again ends with the bits of one that was not",
    "[reliability]") {
  const std::string optimizer = GENERATE("sgd", "momentum", "rmsprop", "adam", "adamw");
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

}  // namespace etude
