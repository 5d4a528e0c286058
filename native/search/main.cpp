#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "etude/base/host.hpp"
#include "search/trial_table.hpp"

// etude-search config.json program …  Searches for the best hyperparameters of a program, which it runs as trials in
// child processes. After SIGINT, SIGTERM or SIGHUP, or a crash, the same command continues.
namespace etude::experiment {
namespace {

constexpr int exit_after_signal = 128;  // as shells do

struct Options {
  std::string config, storage;
  int processes = 0;
  double grace = 30;
  std::vector<std::string> program;
};

/// Signals, which are read instead of interrupting anything. Those that are ignored stay so: nohup ignores SIGHUP.
class Signals {
 public:
  Signals() {
    ::sigemptyset(&handled_);
    ::sigaddset(&handled_, SIGCHLD);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction before{};
      if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) ::sigaddset(&handled_, number);
    }
    ::sigprocmask(SIG_BLOCK, &handled_, nullptr);
    ::signal(SIGCHLD, SIG_DFL);  // if it was ignored, the statuses of children would be lost
  }

  /// Waits for a signal. Returns whether one that ends this program came.
  bool wait(double seconds) {
    const auto whole = static_cast<std::time_t>(seconds);
    const timespec timeout{whole, static_cast<long>(1e9 * (seconds - static_cast<double>(whole)))};
    const int number = ::sigtimedwait(&handled_, nullptr, &timeout);
    if (number <= 0 || number == SIGCHLD) return false;
    received_ = number;
    return true;
  }
  int received() const { return received_; }

 private:
  sigset_t handled_{};
  int received_ = 0;
};

SearchConfig read_config(const Options& options) {
  const std::vector<std::byte> bytes = host().files->read(options.config);
  SearchConfig config = search_config_from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!options.storage.empty()) config.storage = options.storage;
  return config;
}

int search(const Options& options) {
  const SearchConfig config = read_config(options);
  Signals signals;
  TrialTable table(config, ::isatty(STDOUT_FILENO) == 1);
  const SearchResult result = run_search(
      config, {.program = options.program,
               .processes = options.processes,
               .grace = options.grace,
               .wait =
                   [&](double seconds) {
                     table.refresh();
                     return signals.wait(seconds);
                   },
               .report = [&](const TrialReport& trial, const std::string& change) { table.change(trial, change); }});
  table.end(result);
  if (!result.done) return exit_after_signal + signals.received();
  const auto failed = [](const TrialReport& trial) { return trial.status == TrialReport::Status::failed; };
  return std::ranges::all_of(result.trials, failed) ? 1 : 0;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Searches for the best hyperparameters of a program, which it runs as trials.");
  app.add_option("config", options.config, "The file of the search, JSON")->required()->check(CLI::ExistingFile);
  app.add_option("program", options.program, "The program, and its arguments")->required();
  app.add_option("-n,--processes", options.processes, "The most trials that run at a time")->check(CLI::Range(1, 4096));
  app.add_option("--storage", options.storage, "The folder of all files, instead of that in the config");
  app.add_option("--grace", options.grace, "The seconds between SIGTERM and SIGKILL for a trial that is stopped")
      ->check(CLI::Range(0.0, 3600.0));
  app.positionals_at_end();
  CLI11_PARSE(app, argc, argv);
  try {
    return search(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "etude-search: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace etude::experiment

int main(int argc, char** argv) { return etude::experiment::run(argc, argv); }
