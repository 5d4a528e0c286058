#pragma once

#include <optional>

#include "etude/base/logs.hpp"
#include "etude/base/task.hpp"
#include "etude/saving/checkpoint.hpp"

namespace etude {

class Training;

/// Defines the state of a training: everything that determines its future bits.
///
///     model        weights                        metrics    their sums in this epoch
///     states       counters of random draws,      others     other variables of the step: of a second optimizer, of
///                  of stateful layers                        metrics that a train_step made
///     optimizer    iterations, learning rate,     callbacks  the state of each: see Callback::state
///                  slots                          logs       of the last step, or of the epoch that ended
///     place        positions of the data, and     draws      as JSON: the state of random draws
///                  that of validation
enum class TrainingMoment {
  execution_end,  ///< Within an epoch, after a step.
  epoch_end,      ///< After an epoch, its validation, and all callbacks' on_epoch_end.
};

/// The state of a fit at such a moment; `logs` are those of its hooks. Checkpoint.step counts batches. Throws
/// Error(state) for data that cannot return to an earlier place.
Checkpoint training_state(const Training& training, TrainingMoment moment, const Logs& logs);

/// The state of callbacks with remembers_start() before the first step; nothing if there are none.
std::optional<Checkpoint> start_state(const Training& training);

/// Continues the fit from that state, with the same bits: call it and await it after all callbacks' on_train_begin. The
/// first epoch may then be partly or completely done: `within_epoch`. From a start_state the fit starts from the
/// beginning. Throws Error(data) for another model's state or an invalid one.
Task<> resume_training(Training& training, const Checkpoint& state);
/// Sets variables and callbacks once more, after repeated hooks of a begin.
void restore_values(Training& training, const Checkpoint& state);

}  // namespace etude
