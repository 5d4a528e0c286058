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
  /// When metrics of training are reported: after each "epoch", or after so many batches. Metrics of a validation are
  /// reported after each.
  SaveFrequency report_freq = "epoch";
  /// The uuid of the checkpoint from which training begins; the context's info.latest_checkpoint if it is empty.
  std::string checkpoint = {};
  /// A trial's id. If the checkpoint is of that trial, training continues: epoch, optimizer, position of the data,
  /// states of callbacks. If not, it begins anew, with the weights of the checkpoint. The id of the context's trial if
  /// it is empty.
  std::string continue_id = {};
};

}  // namespace etude::experiment
