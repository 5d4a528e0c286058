#include "etude/experiment/search/run_search.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/experiment/cluster_info.hpp"
#include "search/trial_process.hpp"

namespace etude::experiment {
namespace {

using std::chrono::steady_clock;
using Status = TrialReport::Status;

constexpr const char* where = "search";
/// Within this time, a request to this process and to its group, such as the SIGTERM of `timeout`, is one.
constexpr std::chrono::seconds repetition{1};

/// The process of a trial.
struct Running {
  std::unique_ptr<TrialProcess> process;
  /// When it was asked to end, and when it is killed.
  std::optional<steady_clock::time_point> kill_at = {};
};

/// The config with an absolute path, because a program may change its folder.
SearchConfig absolute(SearchConfig config) {
  if (!config.storage.empty()) config.storage = std::filesystem::absolute(config.storage).lexically_normal().string();
  return config;
}

class Runner {
 public:
  Runner(const SearchConfig& config, const SearchRunOptions& options)
      : options_(options), run_(absolute(config), options.files, options.report) {
    const int threads = static_cast<int>(std::thread::hardware_concurrency());
    const int most = config.searcher.max_concurrent_trials;
    processes_ = options.processes > 0 ? options.processes : most > 0 ? most : std::max(threads, 1);
  }

  SearchResult run() {
    run_.begin();
    while (!run_.done() && !(interrupted_ && running_.empty())) {
      if (!interrupted_) start_waiting();
      if (wait()) interrupt();
      poll();
    }
    return run_.result();
  }

 private:
  void start_waiting() {
    for (const int trial : run_.trials(Status::waiting)) {
      if (static_cast<int>(running_.size()) >= processes_) break;
      start(trial);
    }
    run_.save();
  }

  void start(int trial) {
    const std::string path = run_.prepare(trial);
    running_[trial].process =
        std::make_unique<TrialProcess>(options_.program, trial_variable, path, run_.folder(trial) + "/log.txt");
    run_.started(trial);
  }

  void poll() {
    for (auto each = running_.begin(); each != running_.end();) {
      const auto [trial, status] = std::pair(each->first, each->second.process->exit_status());
      run_.read(trial);  // after the end, so that all lines are read
      each = status ? running_.erase(each) : std::next(each);
      if (status) run_.ended(trial, *status, interrupted_);
    }
    run_.save();
    const auto now = steady_clock::now();
    for (const int trial : run_.trials(Status::stopping))
      if (Running& stopping = running_.at(trial); !stopping.kill_at) ask_to_end(stopping);
    for (const auto& [trial, running] : running_)
      if (running.kill_at && now >= *running.kill_at) running.process->kill();
  }

  void ask_to_end(Running& running) const {
    running.process->terminate();
    running.kill_at = steady_clock::now() +
                      std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(options_.grace));
  }

  /// Asks all trials to save their state and end; a second or more later, ends them.
  void interrupt() {
    const auto now = steady_clock::now();
    if (interrupted_ && now - interrupted_at_ < repetition) return;
    for (auto& [trial, running] : running_) {
      if (interrupted_)
        running.process->kill();
      else if (!running.kill_at)
        ask_to_end(running);
    }
    if (!interrupted_) interrupted_at_ = now;
    interrupted_ = true;
  }

  bool wait() const {
    if (options_.wait) return options_.wait(options_.interval);
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.interval));
    return false;
  }

  const SearchRunOptions& options_;
  SearchRun run_;
  std::map<int, Running> running_;
  int processes_ = 1;
  bool interrupted_ = false;
  steady_clock::time_point interrupted_at_;
};

}  // namespace

SearchResult run_search(const SearchConfig& config, const SearchRunOptions& options) {
  check(!options.program.empty(), ErrorKind::value, where,
        "there is no program - expected one with its arguments - name it.");
  return Runner(config, options).run();
}

}  // namespace etude::experiment
