#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "interrupted_runs.hpp"
#include "mirrored_samples.hpp"

// A fit on several replicas that is interrupted and continues: one copy of each variable is saved, all replicas get it.
namespace etude {
namespace {

using namespace samples;

/// Like a restarted program: with a new strategy.
Outcome run_on(int replicas, const Script& script, std::optional<int> interrupt_at = {}) {
  const auto scope = mirrored(replicas)->scope();
  return script.run(interrupt_at);
}

}  // namespace

TEST_CASE("replicas: an interrupted fit continues with the same bits", "[mirrored]") {
  const SaveFrequency save_freq = GENERATE(SaveFrequency("epoch"), SaveFrequency(1), SaveFrequency(4));
  const std::string optimizer = GENERATE("adam", "ema");
  const auto comparison = std::make_shared<Comparison>();
  Script script{.optimizer = optimizer, .further = {comparison}};
  const Outcome whole = run_on(3, script);
  Backup backup;
  script.backup = backup.options(save_freq);
  for (const int hook : {9, 24}) CHECK_THROWS_AS(run_on(3, script, hook), Interruption);
  CHECK(run_on(3, script) == whole);
  CHECK(comparison->differing == "");
}

TEST_CASE("replicas: one replica continues from a checkpoint of several", "[mirrored]") {
  Backup backup;
  const auto recorder = std::make_shared<Recorder>();
  Script script;
  const Outcome whole = run_on(2, script);
  script.backup = backup.options(1);
  const int hook = 1 + 16 + 1 + 2 * 3;  // before the fourth batch of the second epoch
  CHECK_THROWS_AS(run_on(2, script, hook), Interruption);
  script.further = {recorder};
  const Outcome outcome = run_on(1, script);
  CHECK(recorder->starting_with("epoch_begin").front() == "epoch_begin 1");
  CHECK(recorder->starting_with("batch_begin").front() == "batch_begin 3");
  CHECK(outcome.epochs.back() == 3);
  for (std::size_t i = 0; i < outcome.history.size(); ++i)
    CHECK(outcome.history[i].second.front() == whole.history[i].second.front());
}

}  // namespace etude
