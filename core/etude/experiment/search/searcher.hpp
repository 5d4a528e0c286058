#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "etude/experiment/retention_rules.hpp"
#include "etude/experiment/search/space.hpp"

namespace etude::experiment {

/// How a search chooses trials, and which of them it stops early. Source of names, defaults and rules: the searchers of
/// Determined 0.38 (master/pkg/searcher).
struct SearcherOptions {
  /// "single": one trial. "random": trials with random hyperparameters. "grid": a trial for each point of the grid.
  /// "asha": random trials; the worse ones are stopped early, at rungs. "adaptive_asha": several of these,
  /// called brackets, which stop trials more or less early.
  std::string name = "adaptive_asha";
  /// The metric of validations that is compared, with or without "val_". Must be set.
  std::string metric = {};
  /// Whether a smaller metric is better.
  bool smaller_is_better = true;
  /// The measure of the length of training: "steps_completed", "epochs", or a metric.
  std::string time_metric = "steps_completed";
  /// The length of the longest trials, in that measure. asha and adaptive_asha stop a trial then, and need it.
  std::int64_t max_time = 0;
  /// The number of trials of random, asha and adaptive_asha, which need it. A trial whose hyperparameters are invalid
  /// does not count, unless there are more than this number of them.
  int max_trials = 0;
  /// The most trials at a time; 0: asha takes as many as guarantee that one reaches the top, adaptive_asha as many as
  /// the smallest bracket has, and the others all.
  int max_concurrent_trials = 0;
  /// About one trial in this number continues at each rung.
  double divisor = 4;
  /// The rungs of asha. The most rungs of adaptive_asha, which has fewer if max_time or max_trials is small.
  int max_rungs = 5;
  /// The brackets of adaptive_asha: "conservative": of 1 to all rungs; "standard": of half to all; "aggressive": of
  /// all.
  std::string mode = "standard";
};

/// Throws Error(value) for an option that is missing, unknown or out of range, or for hyperparameters that do not suit.
void check_searcher(const SearcherOptions& searcher, const Hyperparameters& space);

/// A search, with where and how its trials run.
struct SearchConfig {
  /// The name of the experiment: letters, digits, ".", "_" and "-".
  std::string name = "search";
  /// The searcher.
  SearcherOptions searcher = {};
  /// The hyperparameters.
  Hyperparameters space = {};
  /// How often a trial that failed is started again.
  int max_restarts = 5;
  /// The folder of all files of the search.
  std::string storage = "search";
  /// The rules for the checkpoints of all trials at the end of the search. During it, each trial applies them to its
  /// own checkpoints. The searcher's smaller_is_better applies. Empty: each trial's program decides.
  std::optional<RetentionRules> retention = {};
  /// The seed, which determines all hyperparameters.
  std::uint64_t seed = 0;
};

/// Throws Error(value) for a member that is out of range, and as check_searcher does.
void check_search_config(const SearchConfig& config);

/// The search of a JSON object {"name": "..", "searcher": {"name": "asha", ..}, "hyperparameters": {..},
/// "max_restarts": 5, "storage": "folder", "checkpoint_storage": {"save_experiment_best": 2, "save_trial_best": 0,
/// "save_trial_latest": 0}, "seed": 1}. "searcher" has the members of SearcherOptions. Only "searcher"
/// and "hyperparameters" are required. Throws Error(data) for invalid JSON, and Error(value), naming the member, for
/// others.
SearchConfig search_config_from_json(std::string_view text);
/// The same config as JSON, with all members.
std::string to_json(const SearchConfig& config);
/// The rules of its "checkpoint_storage".
std::string to_json(const RetentionRules& rules);

}  // namespace etude::experiment
