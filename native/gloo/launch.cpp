#include "gloo/launch.hpp"

#include <sys/signalfd.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "gloo/secret.hpp"
#include "gloo/sockets.hpp"

// etude-launch -n N program …  Runs a program in several processes on this machine, each with its TF_CONFIG, and with a
// random secret, unless there is one. It passes on SIGINT, SIGTERM and SIGHUP, ends all processes when one fails, and
// returns the exit status of that one. With --elastic, it only starts that one again.
namespace etude::launch {
namespace {

using std::chrono::steady_clock;

/// The processes of one start.
class Group {
 public:
  explicit Group(const Run& run) {
    const int count = run.options.processes;
    const std::string cluster = addresses(count);
    for (int rank = 0; rank < count && !cluster.empty(); ++rank) {
      const pid_t child = start(run, rank, cluster);
      if (child < 0) break;
      children_.push_back(child);
    }
    complete_ = children_.size() == static_cast<std::size_t>(count);
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
      const int code = code_of(status);
      if (code != 0 && failure_ == 0) failure_ = code;
    }
  }
  int failure() const { return failure_; }

 private:
  std::vector<pid_t> children_;  ///< by rank; 0 after its end
  int failure_ = 0;
  bool complete_ = false;
};

}  // namespace

int run_once(Run& run) {
  Group group(run);
  if (!group.complete()) group.signal(SIGKILL);
  steady_clock::time_point kill_at = steady_clock::time_point::max();
  for (group.collect(); group.running(); group.collect()) {
    if (group.failure() != 0 && kill_at == steady_clock::time_point::max()) {
      if (run.stopped != SIGTERM) group.signal(SIGTERM);  // else they have it; another might end them at once
      kill_at = grace_end(run);
    }
    int timeout = -1;
    if (kill_at != steady_clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(kill_at - steady_clock::now()).count();
      if (left <= 0) group.signal(SIGKILL);
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 10, 60'000));
    }
    if (const int number = next_signal(run, timeout)) group.signal(number);
  }
  if (!group.complete()) return exit_not_started;
  return group.failure();
}

namespace {

int launch(const Options& options) {
  sigset_t handled, before;
  ::sigemptyset(&handled);
  ::sigaddset(&handled, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {  // those that are ignored stay so: nohup ignores SIGHUP
    struct sigaction given{};
    if (::sigaction(number, nullptr, &given) == 0 && given.sa_handler != SIG_IGN) ::sigaddset(&handled, number);
  }
  ::sigprocmask(SIG_BLOCK, &handled, &before);
  ::signal(SIGCHLD, SIG_DFL);  // if it was ignored, the ends of processes would not be signalled
  const auto has = [](const char* name) {
    const char* const value = std::getenv(name);
    return value && *value;
  };
  if (!has("ETUDE_SECRET") && !has("ETUDE_SECRET_FILE"))
    ::setenv("ETUDE_SECRET", secret::hexadecimal(secret::random_bytes()).c_str(), 1);
  const sockets::Socket signals(::signalfd(-1, &handled, SFD_CLOEXEC));
  for (Run run{options, signals.get(), before};; ++run.restarts) {
    const int code = options.elastic ? run_elastic(run) : run_once(run);
    if (code == 0 || run.stopped != 0 || run.restarts >= options.max_restarts || code == exit_not_started) return code;
    std::fprintf(stderr, "etude-launch: a process ended with status %d: restart %d of %d\n", code, run.restarts + 1,
                 options.max_restarts);
  }
}

}  // namespace
}  // namespace etude::launch

int main(int argc, char** argv) {
  etude::launch::Options options;
  CLI::App app("Runs a program in several processes on this machine, which train one model.");
  app.add_option("-n,--processes", options.processes, "The number of processes")->check(CLI::Range(1, 1024));
  app.add_option("--max-restarts", options.max_restarts,
                 "How often all processes are started again after one failed; with --elastic, how often one is")
      ->check(CLI::Range(0, 1000000));
  app.add_flag("--elastic", options.elastic, "Keep the other processes when one fails, and start that one again");
  app.add_option("--grace", options.grace, "The seconds between SIGTERM and SIGKILL for the others after one failed")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_option("program", options.program, "The program, and its arguments")->required();
  app.positionals_at_end();
  CLI11_PARSE(app, argc, argv);
  return etude::launch::launch(options);
}
