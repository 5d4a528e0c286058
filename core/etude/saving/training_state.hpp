#pragma once

#include <optional>

#include "etude/base/logs.hpp"
#include "etude/base/task.hpp"
#include "etude/saving/checkpoint.hpp"

namespace etude {

class Training;

/// What a training's state is, and the only place that knows: all that decides the bits to come.
///
///     model        weights                        metrics    what they added up in this epoch
///     states       counters of random draws,      others     what else the step has: of a second optimizer, of
///                  of stateful layers                        metrics that a train_step made
///     optimizer    iterations, learning rate,     callbacks  what each remembers: see Callback::state
///                  slots                          logs       of the last step, or of the epoch that ended
///     place        where the data stands, and     draws      as JSON: what random draws depend on
///                  that of validation
enum class TrainingMoment {
  execution_end,  ///< Within an epoch, after a step.
  epoch_end,      ///< After an epoch, its validation, and all callbacks' on_epoch_end.
};

/// The state of a fit at such a moment; `logs` are those of its hooks. Checkpoint.step counts batches. Throws
/// Error(state) for data that cannot be gone back to.
Checkpoint training_state(const Training& training, TrainingMoment moment, const Logs& logs);

/// What callbacks with remembers_start() remember before the first step; nothing if there are none.
std::optional<Checkpoint> start_state(const Training& training);

/// The fit goes on from there, to the same bits: to be called, and awaited, when all callbacks' on_train_begin are
/// done. The first epoch may then be one of which some steps have run, or all: `within_epoch`. From a start_state it
/// begins anew. Throws Error(data) for the state of another model, or what is no such state.
Task<> resume_training(Training& training, const Checkpoint& state);
/// Sets variables and callbacks once more: after hooks of a begin that has been before.
void restore_values(Training& training, const Checkpoint& state);

}  // namespace etude
