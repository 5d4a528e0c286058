#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "checkpoint_samples.hpp"
#include "scratch_folder.hpp"

#if defined(__linux__) && !defined(__EMSCRIPTEN__)

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "etude/base/random.hpp"

// Another process saves checkpoints, and is killed.
namespace etude {
namespace {

using namespace testing;

/// This program once more, running only the test below, which saves step after step in `folder` and tells of each.
class Saver {
 public:
  explicit Saver(const std::string& folder) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], told_to);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::setenv("ETUDE_SAVER_FOLDER", folder.c_str(), 1);
    char program[] = "/proc/self/exe", tag[] = "[saver]";
    char* arguments[] = {program, tag, nullptr};
    REQUIRE(::posix_spawn(&process_, program, &actions, nullptr, arguments, environ) == 0);
    ::unsetenv("ETUDE_SAVER_FOLDER");
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    told_ = ends[0];
  }
  ~Saver() {
    kill();
    ::close(told_);
  }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  /// Waits until it tells of a step that is saved; -1 when it has ended and told of all.
  std::int64_t next() const {
    std::int64_t step = -1;
    return ::read(told_, &step, sizeof step) == sizeof step ? step : -1;
  }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
  }
  static void tell(std::int64_t step) {
    if (::write(told_to, &step, sizeof step) != sizeof step) std::abort();
  }

 private:
  static constexpr int told_to = 100;
  pid_t process_ = 0;
  int told_ = 0;
};

}  // namespace

TEST_CASE("the process that saves until it is killed", "[.][saver]") {
  const char* folder = std::getenv("ETUDE_SAVER_FOLDER");
  if (!folder) return;  // it is for the tests below
  CheckpointStore store(folder);
  const auto loaded = store.load_newest();
  for (std::int64_t step = loaded ? loaded->step + 1 : 0;; ++step) {
    store.save_later(checkpoint_of(step));
    if (step % 3 == 0) store.wait();
    Saver::tell(step % 3 == 0 ? step : step - 1);  // save_later has waited for the one before
  }
}

TEST_CASE(
    "reliability: a process killed at any moment goes on from the last checkpoint that it was sure of, or the next",
    "[reliability]") {
  const ScratchFolder scratch("etude_kill_test", ScratchFolder::memory);
  const std::string folder = scratch.path() + "/c";
  Random random(8, RandomStream::step);
  const int kills = rounds(20, 200);
  int good = 0;
  for (int i = 0; i < kills; ++i) {
    Saver saver(folder);
    std::int64_t last = saver.next();
    REQUIRE(last >= 0);
    ::usleep(random.below(20'000));
    saver.kill();
    for (std::int64_t step; (step = saver.next()) >= 0;) last = step;
    Warnings warnings;
    const auto loaded = load_newest_checkpoint(folder, {}, warnings.sink());
    // Of what was in the making, one save may have been done without its being told, and one more begun.
    good += loaded && warnings.lines.empty() && loaded->step >= last && loaded->step <= last + 2 &&
            is_checkpoint_of(*loaded, loaded->step);
  }
  CHECK(good == kills);
}

TEST_CASE("reliability: while a process saves in a folder, another one is refused there, and may read",
          "[reliability]") {
  const ScratchFolder scratch("etude_kill_test", ScratchFolder::memory);
  const std::string folder = scratch.path() + "/c";
  Saver saver(folder);
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
