#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gloo/launch.hpp"
#include "gloo/sockets.hpp"

namespace etude::launch {
namespace {

[[noreturn]] void become(const Run& run, int rank, const std::string& cluster, pid_t parent) {
  const std::string config = R"({"cluster": {"worker": )" + cluster + R"(}, "task": {"type": "worker", "index": )" +
                             std::to_string(rank) + "}}";
  ::setenv("TF_CONFIG", config.c_str(), 1);
  ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("ETUDE_RESTARTS", std::to_string(run.restarts).c_str(), 1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the launcher is killed
  if (::getppid() != parent) ::_exit(exit_not_started);
  ::sigprocmask(SIG_SETMASK, &run.before, nullptr);
  std::vector<char*> words;
  for (const std::string& word : run.options.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  std::fprintf(stderr, "etude-launch: %s: %s\n", words.front(), std::strerror(errno));
  ::_exit(exit_not_started);
}

}  // namespace

std::string addresses(int processes) {
  std::vector<sockets::Socket> taken;  // so that the ports differ
  std::string list, reason;
  for (int i = 0; i < processes; ++i) {
    taken.push_back(sockets::listen_at({"127.0.0.1", "0"}, reason));
    if (!taken.back()) {
      std::fprintf(stderr, "etude-launch: no free port at 127.0.0.1: %s\n", reason.c_str());
      return {};
    }
    list += (i ? ", \"127.0.0.1:" : "\"127.0.0.1:") + std::to_string(sockets::port_of(taken.back())) + '"';
  }
  return '[' + list + ']';
}

pid_t start(const Run& run, int rank, const std::string& cluster) {
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) become(run, rank, cluster, parent);
  if (child < 0) std::fprintf(stderr, "etude-launch: process %d cannot be started: %s\n", rank, std::strerror(errno));
  return child;
}

int code_of(int status) { return WIFSIGNALED(status) ? exit_after_signal + WTERMSIG(status) : WEXITSTATUS(status); }

int next_signal(Run& run, int timeout, int other) {
  std::array<pollfd, 2> waiting{{{run.signals, POLLIN, 0}, {other, POLLIN, 0}}};
  if (::poll(waiting.data(), waiting.size(), timeout) <= 0 || !waiting[0].revents) return 0;
  signalfd_siginfo received{};
  if (::read(run.signals, &received, sizeof received) != sizeof received) return 0;
  const int number = static_cast<int>(received.ssi_signo);
  if (number == SIGCHLD) return 0;
  run.stopped = number;
  return number;
}

std::chrono::steady_clock::time_point grace_end(const Run& run) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int>(1e3 * run.options.grace));
}

}  // namespace etude::launch
