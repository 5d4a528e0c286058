#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/base/messages.hpp"
#include "etude/base/task.hpp"
#include "etude/base/vfs.hpp"
#include "etude/data/data.hpp"
#include "etude/data/dataset.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/experiment/checkpoint_context.hpp"
#include "etude/experiment/cluster_info.hpp"
#include "etude/experiment/preempt_context.hpp"
#include "etude/experiment/settings.hpp"
#include "etude/experiment/train_context.hpp"
#include "etude/experiment/training_options.hpp"
#include "etude/optimizers/optimizer.hpp"
#include "etude/training/history.hpp"
#include "etude/training/model.hpp"
#include "etude/training/options.hpp"

/// Training as the trial of an experiment. Names are those of Determined's core API.
namespace etude::experiment {

/// Options of init().
struct Config {
  /// The trial of a detached program. If ETUDE_TRIAL is set, its file says this.
  TrialInfo trial = {};
  /// The path of the trial's file; the variable ETUDE_TRIAL has it if this is empty.
  std::string trial_file = {};
  /// The folder of the trial's files, of a detached program.
  std::string storage = "experiment";
  /// Which checkpoints stay, unless the trial's file says that.
  RetentionRules retention = {};
  /// The name of the validation's value that decides which checkpoints are best, with or without "val_".
  std::string metric = "loss";
  /// Whether metrics are also written for TensorBoard.
  bool tensorboard = true;
  /// Requests to end the trial.
  PreemptOptions preempt = {};
  /// The processes that train this trial; null: those of the strategy in whose scope init() is called.
  std::shared_ptr<Workers> workers = {};
  /// The files that hold the storage; host().files if null.
  std::shared_ptr<Vfs> files = {};
  /// The receiver of warnings; stderr if empty.
  TextSink warn = {};
};

/// Options of Context::batch_process.
struct BatchProcessOptions {
  /// The number of batches of each process after which the position is stored.
  std::int64_t checkpoint_interval = 5;
  /// The most batches of all processes; nullopt: those of the dataset.
  std::optional<std::int64_t> max_batches = {};
  /// Called in each process before its position is stored: flush files here.
  std::function<void()> on_checkpoint_start = {};
  /// Called in each process when all batches are processed.
  std::function<void()> on_finish = {};
  /// The name of the file of the position in the storage, if a trial processes several datasets.
  std::string name = "batch_process";
};

/// The context of a trial.
///
///     auto context = experiment::init({.storage = "mnist"});
///     context.fit(model, x, y, {.epochs = 10, .validation_data = Data(x_val, y_val)});
///
/// Source: determined.core.Context; fit and the wrap functions: the Keras Trainer proposal of Determined.
class Context {
  // First, because the contexts below are made of them.
  const Config config_;
  const std::shared_ptr<Vfs> files_;
  const StrategyPtr strategy_;
  Workers* const workers_;

 public:
  /// The trial. latest_checkpoint is the newest state of a training of this trial, if it has one.
  ClusterInfo info;
  /// Reports.
  TrainContext train;
  /// Checkpoints.
  CheckpointContext checkpoint;
  /// Requests to end the trial.
  PreemptContext preempt;

  /// See init().
  explicit Context(Config config);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Model::fit with a TrainingCallback, whose options follow. It continues the trial from its newest checkpoint.
  /// validation_freq of FitOptions may be a list of epochs. Throws Preempted if the trial was asked to end, and what
  /// Model::fit and TrainingCallback throw.
  HistoryPtr fit(Model& model, const Data& data, FitOptions options = {}, const TrainingOptions& training = {});
  HistoryPtr fit(Model& model, const Tensor& x, const Tensor& y, FitOptions options = {},
                 const TrainingOptions& training = {}) {
    return fit(model, Data(x, y), std::move(options), training);
  }
  /// The model of a checkpoint, by its uuid; or by the id of a trial, of its best state of training, or of its newest
  /// one if no validation has run. Throws Error(value) if there is none, Error(data) if it holds no model, or one of a
  /// class that is not registered: load its weights by load_weights_from_checkpoint().
  ModelPtr load_model_from_checkpoint(const std::string& id) const;
  /// Sets the weights of a built model to those of a checkpoint, which is chosen in the same way. Throws Error(value)
  /// if there is none, Error(data) if it is of another model.
  void load_weights_from_checkpoint(Model& model, const std::string& id) const;

  /// The optimizer itself: the strategy sums the gradients of several processes. Throws Error(state) if there are
  /// several, and no scope of a MultiWorkerMirroredStrategy in which the model can be made.
  Choice<Optimizer> wrap_optimizer(Choice<Optimizer> optimizer) const;
  /// The elements of this process: every count-th element, from its rank on. For one process the dataset itself. Not
  /// for fit with MultiWorkerMirroredStrategy, which divides the rows of each batch itself.
  Dataset wrap_dataset(const Dataset& dataset) const;

  /// Calls `process` with each batch of a dataset once, and its index. Several processes share the batches by
  /// wrap_dataset(). The position is stored, so that a trial that is started again continues there: one that was
  /// preempted with the next batch, one that was interrupted with those since the last stored position. So write the
  /// results of batch i to a place that depends on i. Throws Preempted if the trial was asked to end; Error(value) for
  /// options out of range, Error(state) if it was begun with another number of processes.
  void batch_process(const Dataset& dataset, const std::function<void(const Batch& batch, std::int64_t index)>& process,
                     const BatchProcessOptions& options = {});
  /// The same with the outputs of the model for each batch. Throws Error(state) for a model of a strategy of several
  /// processes: load or clone it outside the strategy's scope.
  void batch_process(
      Model& model, const Dataset& dataset,
      const std::function<void(const std::vector<Tensor>& outputs, const Batch& batch, std::int64_t index)>& process,
      const BatchProcessOptions& options = {});

  /// The same for batches that the caller makes: `begin_after` gets the number of this process's batches that were
  /// processed already, and `next` processes the next one and returns whether there was one.
  Task<> batch_process_task(std::function<void(std::int64_t done)> begin_after,
                            std::function<Task<bool>(std::int64_t index)> next, BatchProcessOptions options = {});

  /// The options of init().
  const Config& config() const { return config_; }
  /// The files that hold the storage.
  const std::shared_ptr<Vfs>& files() const { return files_; }
  /// The processes of the trial; null for one.
  Workers* workers() const { return workers_; }
  /// Whether this process has rank 0, which writes all files.
  bool is_chief() const;
  /// The validation's value that decides which checkpoints are best, without "val_".
  const std::string& metric() const { return metric_; }
  /// Which checkpoints stay.
  const RetentionRules& retention() const { return retention_; }

  /// Called by TrainingCallback when a fit begins. Throws Error(state) for a second one.
  void begin_fit();

 private:
  StoredCheckpoint find(const std::string& id) const;

  std::string metric_;
  RetentionRules retention_;
  bool fitted_ = false;
};

/// The context of this program's trial: of the one that ETUDE_TRIAL describes, or else a detached one, whose files are
/// in `config.storage`. With several processes, all must call it, within the strategy's scope. Throws Error(state) if
/// another process runs this trial, Error(value) for invalid options, Error(io), and what cluster_info() throws.
Context init(Config config = {});

/// Runs the program of a trial and returns its exit code: 0 if it ends, and also if it throws InvalidHP, which is
/// reported; preempted_exit_code if it throws Preempted; 1 for other exceptions, whose text is printed.
///
///     int main() {
///       return experiment::trial_main([](experiment::Context& context) { … });
///     }
int trial_main(const std::function<void(Context& context)>& program, const Config& config = {});

}  // namespace etude::experiment
