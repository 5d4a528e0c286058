#pragma once

namespace etude::experiment {

/// Which checkpoints stay: the union of those that a rule keeps. Source: checkpoint_storage in the experiment
/// configuration reference of Determined.
struct RetentionRules {
  /// The number of an experiment's checkpoints with the best scores that stay.
  int save_experiment_best = 0;
  /// The same for each trial.
  int save_trial_best = 1;
  /// The number of each trial's newest checkpoints that stay.
  int save_trial_latest = 1;
  /// Whether a lower score is better.
  bool smaller_is_better = true;
  friend bool operator==(const RetentionRules&, const RetentionRules&) = default;
};

}  // namespace etude::experiment
