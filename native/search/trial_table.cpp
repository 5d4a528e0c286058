#include "search/trial_table.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "etude/base/detail/number.hpp"

namespace etude::experiment {
namespace {

using Status = TrialReport::Status;

constexpr std::size_t usual_width = 80, trial_width = 11, status_width = 13, number_width = 12;

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual_width;
}

bool has_ended(Status status) { return status >= Status::finished; }

}  // namespace

std::size_t TrialTable::time_width() const { return std::max(number_width, config_.searcher.time_metric.size() + 1); }
std::size_t TrialTable::metric_width() const { return std::max(number_width, config_.searcher.metric.size() + 1); }

std::string TrialTable::row(const TrialReport& trial, const std::string& status) const {
  const auto number = [](std::optional<double> value) { return value ? formatted("%.6g", *value) : std::string("-"); };
  std::string line = padded("trial " + std::to_string(trial.trial), trial_width) + padded(status, status_width) +
                     padded(number(trial.time), time_width()) + padded(number(trial.metric), metric_width()) +
                     padded(number(trial.best), metric_width()) + trial.hparams;
  if (terminal_ && line.size() > terminal_width()) line.resize(terminal_width());
  return line;
}

std::string TrialTable::heading() const {
  const std::string& metric = config_.searcher.metric;
  return padded("", trial_width + status_width) + padded(config_.searcher.time_metric, time_width()) +
         padded(metric, metric_width()) + "best";
}

void TrialTable::change(const TrialReport& trial, const std::string& text) {
  changed_ = true;
  created_ = std::max(created_, trial.trial);
  const bool running = trial.status == Status::running || trial.status == Status::stopping;
  if (running)
    open_[trial.trial] = trial;
  else
    open_.erase(trial.trial);
  if (has_ended(trial.status) && text != "validated") {
    ++ended_;
    print(row(trial, text));
  } else if (text.starts_with("warning") || text.starts_with("ended")) {
    print(padded("trial " + std::to_string(trial.trial), trial_width) + text);
  } else if (!terminal_) {
    print(row(trial, text));
  }
}

void TrialTable::print(const std::string& line) {
  clear();
  std::printf("%s\n", line.c_str());
}

void TrialTable::clear() {
  if (drawn_ > 0) std::printf("\x1b[%dA\x1b[J", drawn_);
  drawn_ = 0;
}

void TrialTable::refresh() {
  if (!changed_) return;
  changed_ = false;
  if (terminal_) {
    clear();
    std::printf("%s\n", heading().c_str());
    for (const auto& [id, trial] : open_) {
      const bool stopping = trial.status == Status::stopping;
      const std::string part = formatted("%.0f %%", 100 * trial.progress);
      std::printf("%s\n", row(trial, stopping ? "stopping" : trial.progress > 0 ? part : "running").c_str());
    }
    std::printf("%s: %d trials, %d ended\n", config_.name.c_str(), created_, ended_);
    drawn_ = static_cast<int>(open_.size()) + 2;
  }
  std::fflush(stdout);
}

void TrialTable::end(const SearchResult& result) {
  clear();
  if (!result.done) std::printf("interrupted: the same command continues the search\n");
  if (result.best > 0) {
    const TrialReport& best = result.trials[static_cast<std::size_t>(result.best) - 1];
    std::printf("best: trial %d, %s %s, %s\n", best.trial, config_.searcher.metric.c_str(),
                formatted("%.6g", best.best.value_or(0)).c_str(), best.hparams.c_str());
  }
  std::fflush(stdout);
}

}  // namespace etude::experiment
