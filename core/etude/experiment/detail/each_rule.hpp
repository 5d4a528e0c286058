#pragma once

namespace etude::experiment {

/// Calls visit(name, number) for each of RetentionRules that counts checkpoints, by its name in files.
void each_rule(auto& rules, const auto& visit) {
  visit("save_experiment_best", rules.save_experiment_best);
  visit("save_trial_best", rules.save_trial_best);
  visit("save_trial_latest", rules.save_trial_latest);
}

}  // namespace etude::experiment
