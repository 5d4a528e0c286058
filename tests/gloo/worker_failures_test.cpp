#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <csignal>
#include <etude/etude.hpp>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "full_disk.hpp"
#include "processes.hpp"
#include "scratch_folder.hpp"
#include "shared_memory.hpp"

// Training in several processes, one of which fails: it is killed at any moment, asked to end, too slow, or its disk is
// full.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Trains a small model, 12 steps, and returns the bits of its weights.
std::string train(const std::shared_ptr<Workers>& workers, std::vector<CallbackPtr> callbacks) {
  set_random_seed(3);
  const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(workers);
  const auto scope = strategy->scope();
  Sequential model(
      {layers::dense({.units = 4, .activation = "tanh"}), layers::dropout({.rate = 0.2}), layers::dense({.units = 1})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  Tensor x({12, 3}), y({12, 1});
  for (std::size_t i = 0; i < 36; ++i) x.data<float>()[i] = std::sin(0.7F * static_cast<float>(i));
  for (std::size_t i = 0; i < 12; ++i) y.data<float>()[i] = std::cos(static_cast<float>(i));
  model.fit(x, y, {.batch_size = 4, .epochs = 4, .verbose = 0, .callbacks = std::move(callbacks)});
  std::string bits;
  for (const Tensor& weight : model.get_weights()) bits += bytes_of(weight.raw(), weight.bytes());
  return bits;
}

}  // namespace

TEST_CASE(
    "multi-worker: whichever process is killed, at any moment, the others name it in time, and training "
    "continues from the checkpoint to the weights of an undisturbed one",
    "[gloo][kills]") {
  constexpr int count = 3;
  constexpr std::chrono::minutes deadline(30);
  constexpr double most_seconds = 10;  // the promise is one second, on a machine that is not busy
  const ScratchFolder scratch("etude-kills-", ScratchFolder::memory);
  const Reports undisturbed =
      run_workers(count, [](const std::shared_ptr<Workers>& workers) { return train(workers, {}); });
  std::mt19937 random(5);
  const int kills = rounds(20, 200);
  int killed = 0, completed = 0;
  SharedMoment at;
  SharedSeconds slowest;
  for (int trial = 0; trial < kills; ++trial) {
    const int victim = static_cast<int>(random() % count);
    const std::chrono::microseconds after(random() % 60'000);
    CAPTURE(trial, victim, after.count());
    std::vector<int> statuses;
    const Reports reports = run_workers(
        count,
        [&](const std::shared_ptr<Workers>& workers) -> std::string {
          if (workers->rank() == victim)
            std::thread([&] {
              std::this_thread::sleep_for(after);
              at.set();
              ::kill(::getpid(), SIGKILL);
            }).detach();
          try {
            return "done " +
                   train(workers,
                         {callbacks::backup_and_restore({.backup_dir = scratch.path() + "/c", .save_freq = 1})});
          } catch (const CollectiveError& error) {
            slowest.raise(at.seconds_since());
            return std::to_string(error.peer()) + (at.seconds_since() < most_seconds ? " in time" : " late");
          }
        },
        deadline, 40, &statuses);  // one that still connects may wait for its 15 seconds twice
    CAPTURE(statuses);             // 134: aborted; 137: killed, for the victim, or after 40 seconds
    for (int rank = 0; rank < count; ++rank) {
      const std::string& report = reports[static_cast<std::size_t>(rank)];
      if (report.starts_with("done ")) {
        CHECK((report.substr(5) == undisturbed.front()));
        ++completed;
      } else {
        // Those that were still connecting, too; or Gloo aborts them, if it accepts a connection that has ended.
        const bool connecting =
            report.starts_with("error: [connect] the process of rank " + std::to_string(victim) + " failed") ||
            statuses[static_cast<std::size_t>(rank)] == 128 + SIGABRT;
        if (rank == victim || !connecting) CHECK(report == (rank == victim ? "" : std::to_string(victim) + " in time"));
        killed += rank == victim;
      }
    }
  }
  const Reports last = run_workers(count, [&](const std::shared_ptr<Workers>& workers) {
    return train(workers, {callbacks::backup_and_restore({.backup_dir = scratch.path() + "/c", .save_freq = 1})});
  });
  CHECK((last == undisturbed));
  CHECK(killed > kills / 5);  // on a fast machine many have completed before
  WARN(killed << " of " << kills << " runs were killed; " << completed
              << " processes had completed; the slowest error came "
              << "after " << slowest.value() << " s");
}

TEST_CASE("multi-worker: SIGTERM to one process ends all of them with status 143, after the same step", "[gloo]") {
  const ScratchFolder scratch("etude-sigterm-", ScratchFolder::memory);
  std::vector<int> statuses;
  const auto run = [&](int signal) {
    return run_workers(
        3,
        [&](const std::shared_ptr<Workers>& workers) {
          int first = 0;
          const auto backup =
              callbacks::backup_and_restore({.backup_dir = scratch.path() + "/c", .save_before_preemption = true});
          const auto after = std::make_shared<AfterSteps>([&](int steps) {
            if (signal && steps == 5 && workers->rank() == 2) ::raise(signal);
            first = steps;
          });
          const std::string bits = train(workers, {after, backup});
          return std::to_string(first) + ' ' + bits;
        },
        std::chrono::seconds(15), 20, &statuses);
  };
  CHECK(run(SIGTERM) == Reports{"", "", ""});
  CHECK(statuses == std::vector{143, 143, 143});
  const Reports undisturbed =
      run_workers(3, [](const std::shared_ptr<Workers>& workers) { return train(workers, {}); });
  for (const std::string& report : run(0)) CHECK((report == "7 " + undisturbed.front()));  // 12 steps less 5
}

TEST_CASE("multi-worker: of processes that are asked to end, none does before the checkpoint is stored", "[gloo]") {
  /// Slow to complete a file.
  class SlowDisk : public MemoryVfs {
   public:
    explicit SlowDisk(Shared<bool>& complete) : complete_(complete) {}
    void rename(const std::string& from, const std::string& to) override {
      complete_.set(false);
      std::this_thread::sleep_for(milliseconds(100));
      MemoryVfs::rename(from, to);
      complete_.set(true);
    }

   private:
    Shared<bool>& complete_;
  };
  /// Looks at the end of a process.
  class AtEnd : public Callback {
   public:
    explicit AtEnd(std::function<void()> call) : call_(std::move(call)) {}
    void release() noexcept override { call_(); }

   private:
    std::function<void()> call_;
  };
  const bool as_trial = GENERATE(false, true);
  CAPTURE(as_trial);
  Shared<bool> complete, seen;
  std::vector<int> statuses;
  const Reports reports = run_workers(
      2,
      [&](const std::shared_ptr<Workers>& workers) {
        const int rank = workers->rank();
        const auto disk = std::make_shared<SlowDisk>(complete);
        std::vector<CallbackPtr> callbacks{std::make_shared<AtEnd>([&, rank] {
                                             if (rank == 1) seen.set(complete.get());
                                           }),
                                           std::make_shared<AfterSteps>([rank](int steps) {
                                             if (steps == 5 && rank == 1) ::raise(SIGTERM);
                                           })};
        std::optional<experiment::Context> context;
        if (as_trial)
          callbacks.push_back(std::make_shared<experiment::TrainingCallback>(
              context.emplace(experiment::Config{.tensorboard = false, .workers = workers, .files = disk}),
              experiment::TrainingOptions{.checkpoint_freq = std::nullopt}));
        else
          callbacks.push_back(
              callbacks::backup_and_restore({.backup_dir = "c", .save_before_preemption = true, .files = disk}));
        return train(workers, callbacks);
      },
      std::chrono::seconds(15), 20, &statuses);
  CHECK(seen.get());
  if (as_trial)
    for (const std::string& report : reports) CHECK_THAT(report, ContainsSubstring("the trial was preempted"));
  else
    CHECK(statuses == std::vector{143, 143});
}

TEST_CASE("multi-worker: a process that is slower than the deadline is an error in the others, and in itself",
          "[gloo]") {
  const auto run = [](milliseconds pause, milliseconds timeout) {
    return run_workers(
        2,
        [=](const std::shared_ptr<Workers>& workers) -> std::string {
          const auto slow = std::make_shared<AfterSteps>([&](int steps) {
            if (steps == 3 && workers->rank() == 1) std::this_thread::sleep_for(pause);
          });
          try {
            train(workers, {slow});
            return "done";
          } catch (const CollectiveError& error) {
            return std::to_string(error.peer()) + ' ' + error.operation();
          }
        },
        timeout);
  };
  CHECK(run(milliseconds(300), milliseconds(10'000)) == Reports{"done", "done"});
  const Reports failed = run(milliseconds(3500), milliseconds(1500));
  CHECK(failed[0] == "1 all_reduce");
  CHECK_THAT(failed[1], ContainsSubstring(" all_reduce"));
}

TEST_CASE("multi-worker: a full disk of the chief ends training with its reason, and with an error in the others",
          "[gloo]") {
  const std::size_t space = GENERATE(0, 100);  // the second is full within a file
  CAPTURE(space);
  const Reports reports = run_workers(3, [&](const std::shared_ptr<Workers>& workers) -> std::string {
    const auto disk = std::make_shared<FullDisk>();
    const auto fill = std::make_shared<AfterSteps>([&](int steps) {
      if (steps == 5) disk->space = space;
    });
    try {
      train(workers, {fill, callbacks::backup_and_restore({.backup_dir = "c", .save_freq = 1, .files = disk})});
    } catch (const Error& error) {
      const bool whole = workers->rank() != 0 || load_newest_checkpoint("c", disk);
      return error.what() + std::string(whole ? "" : " - and no checkpoint");
    }
    return "done";
  });
  CHECK_THAT(reports[0], ContainsSubstring("No space left on device") && !ContainsSubstring("and no checkpoint"));
  for (const std::size_t rank : {1U, 2U}) CHECK_THAT(reports[rank], ContainsSubstring("the process of rank 0 failed"));
}

}  // namespace etude
