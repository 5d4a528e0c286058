#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "etude/experiment/search/searcher.hpp"

/// Private to the search: the rungs of ASHA (Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys
/// 2020), by the rules of Determined (master/pkg/searcher/asha_stopping.go, adaptive_asha.go).
namespace etude::experiment {

/// The validations of all trials that trained for a time.
struct Rung {
  struct Entry {
    int trial;
    double metric;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::int64_t time = 0;       ///< the training that it requires
  std::vector<Entry> entries;  ///< by metric; a smaller one is better, and of equal ones the newer

  /// Adds a metric; returns how many are better.
  std::int64_t insert(int trial, double metric);
  void remove(int trial);
};

/// Trials that share rungs. Without rungs no trial is stopped.
struct Bracket {
  int max_trials = 1, initial_trials = 1;
  std::vector<Rung> rungs;
};

/// Rung r requires max(1, max_time / divisor^(rungs - 1 - r)).
std::vector<Rung> make_rungs(int rungs, double divisor, std::int64_t max_time);

/// The trials of brackets with these numbers of rungs, so that all rungs take about as long. The first bracket has the
/// remainder.
std::vector<int> bracket_trials(int max_trials, double divisor, const std::vector<int>& rungs);

/// The trials at a time of brackets with that many trials; `max_concurrent` may be 0.
std::vector<int> bracket_concurrency(int max_concurrent, double divisor, const std::vector<int>& trials);

/// The brackets of a searcher.
std::vector<Bracket> make_brackets(const SearcherOptions& searcher, const Hyperparameters& space);

}  // namespace etude::experiment
