#pragma once

#include <map>
#include <string>
#include <vector>

#include "etude/experiment/search/run_search.hpp"

/// The output of etude-search.
namespace etude::experiment {

/// Prints each trial that has ended, and below them, on a terminal, the ones that run, which it overwrites. Without a
/// terminal it prints a line for each change.
class TrialTable {
 public:
  /// `config` must outlive it.
  TrialTable(const SearchConfig& config, bool terminal) : config_(config), terminal_(terminal) {}

  /// A trial changed: see SearchRunOptions::report.
  void change(const TrialReport& trial, const std::string& text);
  /// Prints the changes.
  void refresh();
  /// Removes the trials that run, and prints the best one.
  void end(const SearchResult& result);

 private:
  /// The widths of the columns of the time and of the metric.
  std::size_t time_width() const;
  std::size_t metric_width() const;
  std::string row(const TrialReport& trial, const std::string& status) const;
  std::string heading() const;
  /// A line that stays.
  void print(const std::string& line);
  void clear();

  const SearchConfig& config_;
  const bool terminal_;
  std::map<int, TrialReport> open_;  // the trials that run
  int created_ = 0, ended_ = 0;
  int drawn_ = 0;  // the lines that will be overwritten
  bool changed_ = true;
};

}  // namespace etude::experiment
