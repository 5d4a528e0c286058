#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "etude/data/detail/data_adapter.hpp"

namespace etude {

/// The purpose of a loop over data.
enum class Purpose : std::uint8_t { training, validation, evaluation, prediction };

/// The options of a DataHandler.
struct DataHandlerOptions {
  /// Index of the first epoch.
  int initial_epoch = 0;
  /// The index after the last epoch, not a count (L-6).
  int epochs = 1;
  /// Default: all batches of a pass. -1: an epoch ends only at the end of the data; with arrays it never ends (L-17).
  std::optional<std::int64_t> steps_per_epoch{};
  /// Steps between two calls of the batch hooks.
  std::int64_t steps_per_execution = 1;
  /// Whether data of a single pass may be exhausted when enumerate_epochs() is called again: that epoch has no batch.
  /// For validation data.
  bool may_be_exhausted = false;
  /// The purpose of the loop.
  Purpose purpose = Purpose::training;
  /// The receiver of warnings; stderr if empty.
  std::function<void(std::string_view)> warn{};
};

/// Divides an adapter's batches into epochs, executions and steps. Loops read
///
///     for (int epoch : data.enumerate_epochs())
///       for (std::int64_t step : data.steps()) {  // one execution: step … step + step_increment
///         for (std::int64_t i = 0; i <= data.step_increment(); ++i) {
///           if (PendingPtr pending = data.fetch()) co_await std::move(pending);
///           const Batch* batch = data.consume();
///           if (!batch) { data.stop_iteration(); break; }
///         }
///         if (data.step_increment() < 0) break;                         // this execution got no batch at all
///       }
///
/// Source: DataHandler in keras/engine/data_adapter.py (2.9), without exceptions for the end of data.
class DataHandler {
 public:
  class Epochs;
  class Steps;

  /// Throws Error(value) for steps_per_epoch or steps_per_execution below 1, and for infinite data without
  /// steps_per_epoch; Error(data) for data that has no batch, unless it is for predictions.
  DataHandler(std::unique_ptr<DataAdapter> adapter, DataHandlerOptions options);

  /// The epoch indices from initial_epoch on (L-6), until `epochs` or until the data is exhausted (L-15). Each call
  /// restarts arrays and continues a generator.
  Epochs enumerate_epochs();
  /// The first step of each execution of this epoch: 0, N, 2N, … for steps_per_execution N (L-12, L-13).
  Steps steps();

  /// Whether all steps of this epoch are certain to get a batch: their number is that of one pass, and the data can be
  /// repeated. Otherwise only the next `consume` shows it.
  bool steps_are_certain() const { return certain_; }
  /// The steps in this execution minus one: N - 1, or fewer in the last. After `stop_iteration` it counts the batches
  /// that existed: step + step_increment() is the last step that ran, and -1 means that none did.
  std::int64_t step_increment() const { return step_increment_; }
  /// The steps per epoch. Unknown for a generator without steps_per_epoch until its first end (L-16).
  std::optional<std::int64_t> inferred_steps() const { return inferred_steps_; }
  /// The steps per execution, as set.
  std::int64_t steps_per_execution() const { return steps_per_execution_; }

  /// As in the adapter. Arrays with steps_per_epoch continue from pass to pass (L-18).
  PendingPtr fetch();
  /// The next batch; null at the end of the data.
  const Batch* consume();

  /// Call this when `consume` returned null. It ends this epoch. Data of unknown size gets its size (L-16). Otherwise
  /// it warns once, and no further epoch follows (L-15). Throws Error(data) if there was no batch at all, unless the
  /// data may_be_exhausted and had some before.
  void stop_iteration();
  /// Whether this epoch's data ended before its steps.
  bool stopped() const { return stopped_; }
  /// Whether the data is exhausted, with no further epoch.
  bool insufficient() const { return insufficient_; }

  /// The adapter that reads the data.
  DataAdapter& adapter() { return *adapter_; }
  /// The purpose of the loop.
  Purpose purpose() const { return options_.purpose; }

  /// The batches consumed in all epochs, including those before a `restore`.
  std::int64_t consumed() const { return consumed_; }

  /// The position of the loop after the consumed batches. Call it between executions or between epochs. `epoch_over`:
  /// this epoch is finished, regardless of its steps. Throws as the adapter does.
  DataState state(bool epoch_over) const;
  DataState state() const { return state(epoch_over_ || stopped_); }
  /// Returns to `state`: the next enumerate_epochs() continues from it, with the same batches. A state within an epoch
  /// starts with the remaining steps of that epoch; none remain if all steps had run, but the epoch had not ended.
  /// Throws Error(value) for an invalid state.
  void restore(const DataState& state);
  /// The same for the adapter alone, for data that starts no epochs of its own: validation data of a single pass.
  void continue_from(const DataState& state);

 private:
  void enter_epoch();
  void leave_epoch();
  void begin_pass();
  void enter_step();
  bool endless() const { return options_.steps_per_epoch == -1; }
  bool more_epochs() const { return epoch_ < options_.epochs && !insufficient_; }
  bool more_steps() const { return !stopped_ && (!inferred_steps_ || step_ < *inferred_steps_); }

  std::unique_ptr<DataAdapter> adapter_;
  DataHandlerOptions options_;
  std::optional<std::int64_t> inferred_steps_;
  std::int64_t steps_per_execution_;
  int epoch_ = 0, pass_ = 0;
  std::int64_t step_ = 0, step_increment_ = 0;
  std::int64_t left_in_pass_ = 0;
  std::int64_t consumed_in_epoch_ = 0, consumed_ = 0;
  bool stopped_ = false, insufficient_ = false, epoch_over_ = false, restored_ = false;
  bool warned_ = false, began_ = false, certain_ = false;
};

/// A range of epoch indices. Reading an index starts that epoch.
class DataHandler::Epochs {
 public:
  struct Iterator {
    DataHandler* data;
    int operator*() const { return data->epoch_; }
    Iterator& operator++() {
      data->leave_epoch();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !data->more_epochs(); }
  };

  /// The epochs of that data.
  explicit Epochs(DataHandler& data) : data_(&data) {}
  /// Begins the first epoch.
  Iterator begin() const { return {data_}; }
  /// The end of the range.
  std::default_sentinel_t end() const { return {}; }

 private:
  DataHandler* data_;
};

/// A range of the first steps of executions.
class DataHandler::Steps {
 public:
  struct Iterator {
    DataHandler* data;
    std::int64_t operator*() const { return data->step_; }
    Iterator& operator++() {
      data->step_ += data->step_increment_ + 1;
      data->enter_step();
      data->epoch_over_ = !data->more_steps();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !data->more_steps(); }
  };

  /// The executions of that epoch.
  explicit Steps(DataHandler& data) : data_(&data) {}
  /// The first execution.
  Iterator begin() const { return {data_}; }
  /// The end of the range.
  std::default_sentinel_t end() const { return {}; }

 private:
  DataHandler* data_;
};

}  // namespace etude
