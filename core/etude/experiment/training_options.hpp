#pragma once

#include <optional>
#include <string>

#include "etude/callbacks/save_frequency.hpp"

namespace etude::experiment {

/// Options of TrainingCallback, and of Context::fit.
struct TrainingOptions {
  /// When checkpoints are stored: after each "epoch", or after so many batches, counted across epochs. Always also at
  /// the end of training and before a preemption; nullopt: only then.
  std::optional<SaveFrequency> checkpoint_freq = "epoch";
  /// Whether a checkpoint is also stored after a validation: "best": if its metric is better than all before; "all":
  /// always; "none". The "epoch" of checkpoint_freq has all of them.
  std::string checkpoint_policy = "best";
  /// When metrics of training are reported: after each "epoch", or after so many batches. Metrics of a validation are
  /// reported after each.
  SaveFrequency report_freq = "epoch";
  /// The seconds after which the use of the machine is reported, as the group "system": the processors, memory, disks
  /// and network; in JavaScript the memory only. 0: never. It is read between two steps.
  double system_metrics_interval = 0;
  /// The uuid of the checkpoint from which a trial begins that has none itself; the context's info.latest_checkpoint if
  /// it is empty. A trial that has some continues from its newest one.
  std::string checkpoint = {};
  /// The id of another trial. If that checkpoint is of this one, training continues where it was: epoch, optimizer,
  /// position of the data, states of callbacks. If not, training begins with its weights only.
  std::string continue_id = {};
};

}  // namespace etude::experiment
