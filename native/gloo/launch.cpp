#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "gloo/secret.hpp"
#include "gloo/sockets.hpp"

// etude-launch -n N program …  Runs a program in several processes on this machine, each with its TF_CONFIG, and with a
// random secret, unless there is one. It passes on SIGINT, SIGTERM and SIGHUP, ends all processes when one fails, and
// returns the exit status of that one.
namespace {

namespace sockets = etude::sockets;
using std::chrono::steady_clock;

constexpr int exit_after_signal = 128;  // as shells do
constexpr int exit_not_started = 127;

struct Options {
  int processes = 1, max_restarts = 0;
  double grace = 10;
  std::vector<std::string> program;
};

/// The addresses of all processes, as a JSON list.
std::string addresses(int processes) {
  std::vector<sockets::Socket> taken;  // so that the ports differ
  std::string list, reason;
  for (int i = 0; i < processes; ++i) {
    taken.push_back(sockets::listen_at({"127.0.0.1", "0"}, reason));
    if (!taken.back()) return {};
    list += (i ? ", \"127.0.0.1:" : "\"127.0.0.1:") + std::to_string(sockets::port_of(taken.back())) + '"';
  }
  return '[' + list + ']';
}

/// The processes of one start.
class Group {
 public:
  Group(const Options& options, int restarts, const sigset_t& before) {
    const std::string cluster = addresses(options.processes);
    for (int rank = 0; rank < options.processes && !cluster.empty(); ++rank) {
      const pid_t parent = ::getpid(), child = ::fork();
      if (child == 0) become(options, rank, restarts, cluster, before, parent);
      if (child < 0) break;
      children_.push_back(child);
    }
    complete_ = children_.size() == static_cast<std::size_t>(options.processes);
  }

  bool complete() const { return complete_; }
  bool running() const {
    return std::ranges::any_of(children_, [](pid_t child) { return child > 0; });
  }

  void signal(int number) const {
    for (const pid_t child : children_)
      if (child > 0) ::kill(child, number);
  }

  /// Notes which processes ended. The first failure is that of the group.
  void collect() {
    for (pid_t& child : children_) {
      int status = 0;
      if (child <= 0 || ::waitpid(child, &status, WNOHANG) != child) continue;
      child = 0;
      const int code = WIFSIGNALED(status) ? exit_after_signal + WTERMSIG(status) : WEXITSTATUS(status);
      if (code != 0 && failure_ == 0) failure_ = code;
    }
  }
  int failure() const { return failure_; }

 private:
  [[noreturn]] static void become(const Options& options, int rank, int restarts, const std::string& cluster,
                                  const sigset_t& before, pid_t parent) {
    const std::string config = R"({"cluster": {"worker": )" + cluster + R"(}, "task": {"type": "worker", "index": )" +
                               std::to_string(rank) + "}}";
    ::setenv("TF_CONFIG", config.c_str(), 1);
    ::setenv("ETUDE_RESTARTS", std::to_string(restarts).c_str(), 1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the launcher is killed
    if (::getppid() != parent) ::_exit(exit_not_started);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    std::vector<char*> words;
    for (const std::string& word : options.program) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words.front(), words.data());
    std::fprintf(stderr, "etude-launch: %s: %s\n", words.front(), std::strerror(errno));
    ::_exit(exit_not_started);
  }

  std::vector<pid_t> children_;  ///< by rank; 0 after its end
  int failure_ = 0;
  bool complete_ = false;
};

/// Runs the program once in all processes. `stopped` becomes the signal that the launcher received, if any.
int run_once(const Options& options, int restarts, int signals, const sigset_t& before, int& stopped) {
  Group group(options, restarts, before);
  if (!group.complete()) {
    group.signal(SIGKILL);
    std::fprintf(stderr, "etude-launch: cannot start %d processes: %s\n", options.processes, std::strerror(errno));
  }
  steady_clock::time_point kill_at = steady_clock::time_point::max();
  const auto end_soon = [&] {
    kill_at = std::min(kill_at, steady_clock::now() + std::chrono::milliseconds(static_cast<int>(1e3 * options.grace)));
  };
  for (group.collect(); group.running(); group.collect()) {
    if (group.failure() != 0 && kill_at == steady_clock::time_point::max()) {
      group.signal(SIGTERM);
      end_soon();
    }
    int timeout = -1;
    if (kill_at != steady_clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(kill_at - steady_clock::now()).count();
      if (left <= 0) group.signal(SIGKILL);
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 10, 60'000));
    }
    pollfd waiting{signals, POLLIN, 0};
    if (::poll(&waiting, 1, timeout) <= 0) continue;
    signalfd_siginfo received{};
    if (::read(signals, &received, sizeof received) != sizeof received) continue;
    const int number = static_cast<int>(received.ssi_signo);
    if (number == SIGCHLD) continue;
    stopped = number;
    group.signal(number);
  }
  if (!group.complete()) return exit_not_started;
  return group.failure();
}

int launch(const Options& options) {
  sigset_t handled, before;
  ::sigemptyset(&handled);
  ::sigaddset(&handled, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {  // those that are ignored stay so: nohup ignores SIGHUP
    struct sigaction given{};
    if (::sigaction(number, nullptr, &given) == 0 && given.sa_handler != SIG_IGN) ::sigaddset(&handled, number);
  }
  ::sigprocmask(SIG_BLOCK, &handled, &before);
  const auto has = [](const char* name) {
    const char* const value = std::getenv(name);
    return value && *value;
  };
  if (!has("ETUDE_SECRET") && !has("ETUDE_SECRET_FILE"))
    ::setenv("ETUDE_SECRET", etude::secret::hexadecimal(etude::secret::random_bytes()).c_str(), 1);
  const sockets::Socket signals(::signalfd(-1, &handled, SFD_CLOEXEC));
  for (int restarts = 0;; ++restarts) {
    int stopped = 0;
    const int code = run_once(options, restarts, signals.get(), before, stopped);
    if (code == 0 || stopped != 0 || restarts == options.max_restarts || code == exit_not_started) return code;
    std::fprintf(stderr, "etude-launch: a process ended with status %d: restart %d of %d\n", code, restarts + 1,
                 options.max_restarts);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs a program in several processes on this machine, which train one model.");
  app.add_option("-n,--processes", options.processes, "The number of processes")->check(CLI::Range(1, 1024));
  app.add_option("--max-restarts", options.max_restarts, "How often all processes are started again after one failed")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--grace", options.grace, "The seconds between SIGTERM and SIGKILL for the others after one failed")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_option("program", options.program, "The program, and its arguments")->required();
  app.positionals_at_end();
  CLI11_PARSE(app, argc, argv);
  return launch(options);
}
