#pragma once

#if defined(__linux__) && !defined(__EMSCRIPTEN__)

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

/// A child process, which is killed.
namespace etude::testing {

/// This program again, running only the test with that tag, such as "[saver]", which works in `folder()` and reports
/// each step.
class Child {
 public:
  Child(std::string tag, const std::string& folder) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], told_to);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::setenv("ETUDE_CHILD_FOLDER", folder.c_str(), 1);
    char program[] = "/proc/self/exe";
    char* arguments[] = {program, tag.data(), nullptr};
    REQUIRE(::posix_spawn(&process_, program, &actions, nullptr, arguments, environ) == 0);
    ::unsetenv("ETUDE_CHILD_FOLDER");
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    told_ = ends[0];
  }
  ~Child() {
    kill();
    ::close(told_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The child's own object; null in a process that is not a child.
  static const char* folder() { return std::getenv("ETUDE_CHILD_FOLDER"); }

  /// Waits for the report of a step; -1 when it has ended and all reports are read.
  std::int64_t next() const {
    std::int64_t step = -1;
    return ::read(told_, &step, sizeof step) == sizeof step ? step : -1;
  }
  /// The same, within that many seconds; nothing after a timeout.
  std::optional<std::int64_t> next(int seconds) const {
    pollfd waiting{.fd = told_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, seconds * 1000) == 0) return {};
    return next();
  }
  void kill() {
    signal(SIGKILL);
    exit_status();
  }
  void signal(int number) const {
    if (process_ > 0) ::kill(process_, number);
  }
  /// Waits for its end, and returns its exit status; -1 if a signal ended it.
  int exit_status() {
    if (process_ <= 0) return status_;
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static void tell(std::int64_t step) {
    if (::write(told_to, &step, sizeof step) != sizeof step) std::abort();
  }

 private:
  static constexpr int told_to = 100;
  pid_t process_ = 0;
  int told_ = 0, status_ = -1;
};

}  // namespace etude::testing

#endif
