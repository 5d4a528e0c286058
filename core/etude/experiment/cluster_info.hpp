#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/vfs.hpp"
#include "etude/experiment/retention_rules.hpp"
#include "etude/experiment/settings.hpp"

namespace etude::experiment {

/// Which trial of which experiment a program runs. Source: determined.TrialInfo.
struct TrialInfo {
  /// The id of the trial, unique in its storage of checkpoints: letters, digits, ".", "_" and "-".
  std::string trial_id = "detached";
  /// The id of the experiment.
  std::string experiment_id = "detached";
  /// The seed of the trial: set_random_seed(info.trial.trial_seed).
  std::uint64_t trial_seed = 0;
  /// The hyperparameters of the trial.
  Settings hparams = {};
};

/// The information from the program that started this one: the trial, and the place of its files. Source:
/// determined.ClusterInfo.
struct ClusterInfo {
  /// The trial.
  TrialInfo trial = {};
  /// The uuid of the checkpoint from which the trial begins.
  std::optional<std::string> latest_checkpoint = {};
  /// The folder of the trial's files.
  std::string storage = "experiment";
  /// The folder of checkpoints, which several trials may share; `storage`/checkpoints if it is empty.
  std::string checkpoint_storage = {};
  /// How long the trial may become, such as {"epochs": 10}: for information.
  Settings max_length = {};
  /// Further values.
  Settings user_data = {};
  /// The name of the validation's value that decides which checkpoints are best; none if the program decides that.
  std::optional<std::string> metric = {};
  /// Whether less of it is better; none if the program decides that.
  std::optional<bool> smaller_is_better = {};
  /// Which checkpoints stay; none if the program decides that.
  std::optional<RetentionRules> retention = {};
  /// The rank of this process among those of the trial, as far as `TF_CONFIG` says it.
  int container_rank = 0;
  /// The host names or addresses of these processes by their ranks, as far as `TF_CONFIG` lists them.
  std::vector<std::string> container_addrs = {"127.0.0.1"};
  /// Whether no other program has started this one as a trial.
  bool detached = true;
};

/// The variable of the environment with the path of the trial's file.
inline constexpr const char* trial_variable = "ETUDE_TRIAL";

/// Reads the file that ETUDE_TRIAL names, or returns the defaults of a detached program if the variable is not set:
///
///     {"trial_id": 3, "experiment_id": 1, "trial_seed": 7, "hparams": {"learning_rate": 0.1},
///      "latest_checkpoint": null, "storage": "search/trials/3", "checkpoint_storage": "search/checkpoints",
///      "max_length": {"epochs": 10}, "metric": "loss", "smaller_is_better": true,
///      "retention": {"save_experiment_best": 0, "save_trial_best": 1, "save_trial_latest": 1}}
///
/// "trial_id", "hparams" and "storage" are required. Throws Error(io) if there is no such file, Error(data) for one
/// that is not such an object. `files`: those that have the file; host().files if null. `trial_file`: the path of the
/// file, in place of the variable's, if it is not empty.
ClusterInfo cluster_info(const std::shared_ptr<Vfs>& files = {}, const std::string& trial_file = {});

/// Throws Error(value) unless the id consists of letters, digits, ".", "_" and "-"; `name` is that of the id.
void check_id(const std::string& id, const char* name);

}  // namespace etude::experiment
