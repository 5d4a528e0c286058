#include <catch2/catch_test_macros.hpp>

#include "scratch_folder.hpp"

#if defined(__linux__) && !defined(__EMSCRIPTEN__)

#include "etude/base/detail/clock.hpp"
#include "etude/base/detail/termination.hpp"
#include "etude/base/detail/worker_thread.hpp"
#include "etude/base/random.hpp"
#include "interrupted_runs.hpp"
#include "reliability/child.hpp"

// A child process trains, and gets SIGTERM.
namespace etude {
namespace {

using namespace testing;
using namespace samples;

constexpr int asked_to_end = 143;  // 128 + SIGTERM

const Script training{.optimizer = "adam", .epochs = 12, .patience = 12};

/// Reports each step, slowly, so that there is time between them; and then -2 and the final result.
class Teller : public Callback {
 public:
  void on_train_batch_end(std::int64_t step, Logs&) override {
    Child::tell(step);
    ::usleep(200);
  }
};

/// Two paths: its backup, and the log that it appends to.
std::string backup_in(const std::string& folder) { return folder + "/backup"; }
std::string log_in(const std::string& folder) { return folder + "/log.csv"; }

void train(const std::string& folder, bool on_request) {
  Script script = training;
  script.backup = {.backup_dir = backup_in(folder),
                   .save_freq = on_request ? SaveFrequency(100'000) : SaveFrequency("epoch"),
                   .delete_checkpoint = false,
                   .save_before_preemption = on_request};
  script.further = {std::make_shared<Teller>(), callbacks::csv_logger({.filename = log_in(folder), .append = true})};
  const std::int64_t result = script.run().fingerprint();
  Child::tell(-2);
  Child::tell(result);
}

/// The number of steps that a process reported, and its result; nothing if it ended before.
struct Told {
  std::int64_t steps = 0;
  std::optional<std::int64_t> result = {};
};
/// Reads all its reports, from `step` on.
Told told_by(const Child& child, std::int64_t step) {
  Told told;
  for (; step != -1; step = child.next()) {
    if (step != -2) {
      ++told.steps;
      continue;
    }
    if (const std::int64_t result = child.next(); result != -1) told.result = result;
  }
  return told;
}

std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The result of an uninterrupted training.
struct Whole {
  std::int64_t result = 0;
  std::string log;
  Whole() {
    const ScratchFolder scratch("etude_preemption_test", ScratchFolder::memory);
    Script script = training;
    script.further = {callbacks::csv_logger({.filename = log_in(scratch.path()), .append = true})};
    result = script.run().fingerprint();
    log = text_of(log_in(scratch.path()));
  }
};

}  // namespace

TEST_CASE("the process that trains until it gets SIGTERM", "[.][preempted]") {
  if (const char* folder = Child::folder()) train(folder, true);
}
TEST_CASE("the process that trains and appends to a log", "[.][logger]") {
  if (const char* folder = Child::folder()) train(folder, false);
}

TEST_CASE("reliability: a process that gets SIGTERM at any moment exits with 143 and a checkpoint, and loses no step",
          "[reliability]") {
  const Whole whole;
  Random random(21, RandomStream::step);
  const int requests = rounds(8, 100);
  int made = 0, saved = 0;
  while (made < requests) {
    const ScratchFolder scratch("etude_preemption_test", ScratchFolder::memory);
    std::int64_t steps = 0;
    bool late = false;  // a request after fit ended the process as without a watch
    for (bool ended = false; !ended;) {
      Child trainer("[preempted]", scratch.path());
      const std::int64_t first = trainer.next();
      const bool asks = made < requests && first >= 0;
      if (asks) {
        ::usleep(random.below(25'000));
        trainer.signal(SIGTERM);
      }
      const Told told = told_by(trainer, first);
      const int status = trainer.exit_status();
      steps += told.steps;
      ended = told.result.has_value();
      if (ended) CHECK(*told.result == whole.result);
      late = late || status == -1;
      if (ended || status == -1) continue;
      REQUIRE(asks);
      CHECK(status == asked_to_end);
      ++made;
      saved += load_newest_checkpoint(backup_in(scratch.path())).has_value();
    }
    if (!late) CHECK(steps == 12 * 6);  // each once
    CHECK(text_of(log_in(scratch.path())) == whole.log);
  }
  CHECK(saved == made);
}

TEST_CASE("reliability: a later second request ends a process at once, and the previous checkpoint is complete",
          "[reliability]") {
  const Whole whole;
  Random random(22, RandomStream::step);
  for (int i = rounds(4, 100); i > 0; --i) {
    const ScratchFolder scratch("etude_preemption_test", ScratchFolder::memory);
    {
      Child first("[preempted]", scratch.path());
      REQUIRE(first.next() >= 0);
      first.signal(SIGTERM);
      told_by(first, 0);
      REQUIRE(first.exit_status() == asked_to_end);
    }
    Warnings warnings;
    const std::int64_t before = load_newest_checkpoint(backup_in(scratch.path()))->step;
    {
      Child second("[preempted]", scratch.path());
      REQUIRE(second.next() >= 0);
      ::usleep(random.below(8'000));
      second.signal(SIGTERM);
      ::usleep(random.below(300));
      second.signal(SIGSTOP);
      ::usleep(1'100'000);  // earlier, it is the first request again
      second.signal(SIGTERM);
      second.signal(SIGCONT);
      told_by(second, 0);
      CHECK(second.exit_status() == asked_to_end);
    }
    const auto loaded = load_newest_checkpoint(backup_in(scratch.path()), {}, warnings.sink());
    REQUIRE(loaded);
    CHECK(warnings.lines.empty());
    CHECK(loaded->step >= before);
    Child last("[preempted]", scratch.path());
    CHECK(told_by(last, last.next()).result == whole.result);
  }
}

TEST_CASE("reliability: a killed process that starts again has each epoch once in its log", "[reliability]") {
  const Whole whole;
  Random random(23, RandomStream::step);
  const int planned = rounds(10, 100);
  for (int kills = 0; kills < planned;) {
    const ScratchFolder scratch("etude_preemption_test", ScratchFolder::memory);
    for (bool ended = false; !ended;) {
      Child trainer("[logger]", scratch.path());
      const std::int64_t first = trainer.next();
      if (kills < planned && first >= 0) {
        ::usleep(random.below(25'000));
        trainer.kill();
        ++kills;
      }
      ended = told_by(trainer, first).result.has_value();
    }
    CHECK(text_of(log_in(scratch.path())) == whole.log);
  }
}

namespace {

/// 5,000,000 floats; of the quick form 50,000.
std::int64_t width() { return rounds(500, 50'000); }

}  // namespace

TEST_CASE("the process that trains a large model until it gets SIGTERM", "[.][large]") {
  const char* folder = Child::folder();
  if (!folder) return;
  Sequential model({layers::dense({.units = 100, .use_bias = false}), layers::dense({.units = 1})});
  model.build({-1, width()});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 1e-9}), .loss = "mse"});  // weights stay finite
  const Tensor x = waves({8, width()}), y = Tensor({8, 1});
  const auto tell = callbacks::lambda({.on_train_batch_end = [](std::int64_t step, Logs&) { Child::tell(step); }});
  model.fit(x, y,
            {.batch_size = 4,
             .epochs = 1'000'000,
             .verbose = 0,
             .callbacks = {callbacks::backup_and_restore({.backup_dir = backup_in(folder),
                                                          .save_freq = SaveFrequency(1'000'000),
                                                          .save_before_preemption = true}),
                           tell}});
}

TEST_CASE(
    "reliability: a process with a model of 20 MB ends within 5 s of a request, and within 100 ms of a second one, "
    "with a complete checkpoint",
    "[reliability]") {
  const bool timed = rounds(0, 1) == 1;  // the quick form has a small model, and asserts no time
  const ScratchFolder scratch("etude_preemption_test");
  const auto seconds_to_end = [&](int requests) {
    Child trainer("[large]", scratch.path());
    REQUIRE(trainer.next() >= 0);
    double asked = 0;
    for (int i = 0; i < requests; ++i) {
      asked = monotonic_seconds();
      trainer.signal(SIGTERM);
      if (i + 1 < requests) ::usleep(timed ? 100'000 : 1000);  // a pending signal merges with the next one
    }
    CHECK(trainer.exit_status() == asked_to_end);
    return monotonic_seconds() - asked;
  };
  const double once = seconds_to_end(1);
  const auto first = load_newest_checkpoint(backup_in(scratch.path()));
  REQUIRE(first);
  double twice = seconds_to_end(2);
  for (int i = rounds(0, 4); i > 0; --i) twice = std::min(twice, seconds_to_end(2));  // other processes need time too
  Warnings warnings;
  const auto second = load_newest_checkpoint(backup_in(scratch.path()), {}, warnings.sink());
  REQUIRE(second);
  CHECK(warnings.lines.empty());
  CHECK(second->step >= first->step);
  INFO(once << " s after the request, " << twice << " s after a second one");
  if (!timed) return;
  CHECK(once <= 5);
  CHECK(twice <= 0.1);
}

TEST_CASE("the process whose threads are refused", "[.][refused]") {
  const char* folder = Child::folder();
  if (!folder) return;
  REQUIRE(std::freopen((std::string(folder) + "/stderr").c_str(), "w", stderr));
  thread_fault() = [] { return true; };
  for (const char* what : {"a worker", "prefetching"}) CHECK_FALSE(started_thread([] {}, what));
  std::fflush(stderr);
}

TEST_CASE("a process warns once, on stderr, of threads that the system refuses, and names their purpose", "[threads]") {
  const ScratchFolder scratch("etude_refused_test");
  {
    Child refused("[refused]", scratch.path());
    CHECK(refused.exit_status() == 0);
  }
  const std::string text = text_of(scratch.path() + "/stderr");
  CHECK(text.find("Warning: The system refused a thread for a worker. Work continues") != std::string::npos);
  CHECK(text.find("The system refused") == text.rfind("The system refused"));
}

TEST_CASE("a request to end is detected, and without a watch it goes to the previous handler", "[preemption]") {
  static int reached = 0;
  struct sigaction counting{}, before{};
  counting.sa_handler = [](int) { ++reached; };
  ::sigaction(SIGTERM, &counting, &before);
  reached = 0;
  {
    const auto watch = host().watch_termination();
    CHECK_FALSE(watch->requested());
    std::raise(SIGTERM);
    std::raise(SIGTERM);  // as from a launcher of the same group, which passes it on
    CHECK(watch->requested());
    CHECK(reached == 0);
  }
  CHECK(reached == 0);  // it was handled
  {
    const auto watch = host().watch_termination();
    CHECK_FALSE(watch->requested());
    std::raise(SIGTERM);
  }
  CHECK(reached == 1);  // the watch was not checked
  std::raise(SIGTERM);
  CHECK(reached == 2);
  ::sigaction(SIGTERM, &before, nullptr);
}

}  // namespace etude

#endif
