#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "etude/data/dataset_creator.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/training/coordinator.hpp"

namespace etude {

class Model;

/// Options of ParameterServerStrategy.
struct ParameterServerOptions {
  /// How many parts each variable of the model is divided into. Default: one.
  Partitioner variable_partitioner = {};
  /// How the processes communicate.
  CoordinatorOptions communication = {};
};

/// Trains one model by workers, while parameter servers keep its variables. All processes run the same program.
///
///     const auto strategy = std::make_shared<ParameterServerStrategy>(server_cluster_from_environment());
///     const auto scope = strategy->scope();
///     Sequential model({layers::dense({.units = 10})});
///     model.compile({.optimizer = "adam", .loss = "mse"});
///     const DatasetCreator train{make_dataset, "train"};
///     if (!strategy->is_chief()) return strategy->serve(model, {train});
///     model.fit(train, {.epochs = 5, .steps_per_epoch = 100});
///
/// fit of the chief schedules the steps of an epoch onto the workers, and awaits all of them. A worker computes the
/// gradients of its next batch with the variables as they are, and the servers apply the optimizer to them, those of
/// several workers one after the other. Other variables that a step changes, such as the averages of
/// BatchNormalization, get the value of the step that ended last. Metrics are summed over the steps that have ended.
/// Between epochs the chief's model has the variables and the state of the optimizer, so that callbacks can read, save
/// and change them. All steps of an epoch are one execution, with one call of the batch hooks. evaluate, and the
/// validation of fit, schedule the steps of a DatasetCreator in the same way; other data is computed by the chief, as
/// in predict.
///
/// If a worker ends, another one computes its step again. If a server ends, fit throws UnavailableError. Then start all
/// processes again: with BackupAndRestore, fit continues after the last epoch. Numbers equal those of one process only
/// with a single worker and with fixed data. Source: tf.distribute.experimental.ParameterServerStrategy.
class ParameterServerStrategy : public Strategy {
 public:
  /// Uses the default device. The chief connects with the others in its first fit or evaluate.
  explicit ParameterServerStrategy(ServerCluster cluster, ParameterServerOptions options = {});
  ~ParameterServerStrategy() override;

  std::string_view name() const override { return "ParameterServerStrategy"; }
  int num_replicas_in_sync() const override { return 1; }
  Device& device(int) override { return device_; }
  /// Whether this process is the chief, which calls fit.
  bool is_chief() const;

  /// In the other processes: runs the steps of this model, or keeps its variables, until the chief's strategy and model
  /// are destroyed. `datasets` are all that the chief passes to fit and evaluate. Throws Error(state) in the chief,
  /// Error(value) for a dataset without a name, and as run_server does.
  void serve(Model& model, const std::vector<DatasetCreator>& datasets);

  RemoteSteps* remote_steps() override;
  std::vector<Variable>* given_variables() override;

 private:
  class Steps;
  ServerCluster cluster_;
  ParameterServerOptions options_;
  Device& device_;
  std::vector<Variable> given_;
  std::unique_ptr<Steps> steps_;
};

}  // namespace etude
