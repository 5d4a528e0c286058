#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "etude/base/logs.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/data/dataset_creator.hpp"
#include "etude/training/callback.hpp"
#include "etude/training/coordinator.hpp"

namespace etude {

class Model;
class Strategy;
struct FitOptions;

/// Computes the steps of fit and evaluate in other processes.
class RemoteSteps {
 public:
  virtual ~RemoteSteps() = default;
  /// The InputContext of the dataset whose first batch builds the model in this process.
  virtual InputContext context() const = 0;
  /// A new pass over the datasets that the other processes create.
  virtual PerWorkerDataset begin_pass(const DatasetCreator& creator) = 0;
  /// Runs this number of steps, from the model's variables on, and returns when all of them have ended. Then the
  /// model's metrics include those of the steps, and after training steps its other variables are those that the steps
  /// have changed. Returns the results of the metrics. Throws UnavailableError, and the errors of the steps.
  virtual Logs run(Model& model, Purpose purpose, const PerWorkerDataset& pass, std::int64_t steps) = 0;
};

/// Counts the batches that other processes read from the datasets of a creator.
class RemoteAdapter final : public DatasetCreatorAdapter {
 public:
  /// Throws Error(value) for a creator without a name, a function or steps.
  RemoteAdapter(const DatasetCreator& creator, std::optional<std::int64_t> steps, RemoteSteps& remote);

  /// Runs steps in the other processes, and counts their batches.
  Logs run(Model& model, Purpose purpose, std::int64_t steps);

  void begin_epoch(int) override { pass_.reset(); }
  /// A batch without rows, for each batch that was read.
  const Batch* consume() override;
  /// The number of batches. A restored adapter continues with a new pass.
  DataState state() const override { return {count_}; }
  void restore(const DataState& state) override;

 private:
  DatasetCreator creator_;
  RemoteSteps& remote_;
  std::optional<PerWorkerDataset> pass_;
  std::int64_t count_ = 0;
  Batch counted_;
};

/// Throws Error(value) for options of fit, or of evaluate, that other processes do not support.
void check_remote_fit(const FitOptions& options);
void check_remote_loop(int verbose, const std::vector<CallbackPtr>& callbacks, Purpose purpose);
/// Throws Error(state) in a process that computes steps for others: its own steps would update no variable.
void check_trains(Strategy& strategy, const char* method);

}  // namespace etude
