#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/logs.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/distribute/detail/replicated_plan.hpp"
#include "etude/training/detail/resident_arrays.hpp"
#include "etude/training/detail/traced_step.hpp"
#include "etude/training/execution_function.hpp"

namespace etude {

struct LoopExecution;
class StepFunction;

/// The function that runs the executions of some steps. Only replace_execution() makes one, so that a module without
/// such functions does not contain their code.
class ReplacedExecution {
 public:
  virtual ~ReplacedExecution() = default;
  /// Runs an execution of a loop.
  virtual Task<> run(LoopExecution& execution) = 0;
  /// Runs an execution of one batch. Throws Error(state) if it must await an event loop.
  virtual void run_on(StepFunction& function, const Batch& batch) = 0;
};

struct StepFunctionOptions {
  /// Runs each op when it is traced, and traces again at each batch, so that Values can be read and printed. The whole
  /// batch runs as on one replica.
  bool run_eagerly = false;
  /// Called after each trace, before its plan is made: variables may still move in it.
  std::function<void(const Graph&)> after_trace = {};
  /// The number of batches that are uploaded to device memory before their steps run.
  std::int64_t steps_per_execution = 1;
  /// Traces twice and compares: throws Error(state) with the op in which the traces differ.
  bool check_trace = false;
};

/// Logs whose values are fetched: they stay valid after their step.
Logs fetched(const Logs& logs);

/// Runs a step for a loop: traces it once per structure, shapes and dtypes of the batch, compiles a plan, and replays
/// the plan from then on. Keeps the eight plans that were used last. Each replica has a plan for its rows; replicas
/// with the same number of rows share a trace.
class StepFunction {
 public:
  StepFunction(Step step, Replicas replicas, StepFunctionOptions options = {});
  ~StepFunction();

  /// Traces the step for a batch like this one and discards the trace. Afterwards all variables of the step exist,
  /// unchanged.
  void rehearse(const Batch& example);
  /// Runs an execution of one batch: the step, or what replaces executions. Throws Error(data), without a step, if a
  /// label or an index of the batch is out of range.
  void operator()(const Batch& batch);
  /// Runs the step on a batch.
  void run(const Batch& batch);
  /// The same in three parts. prepare() finds the plan for a batch. If there is none, it traces and compiles the step,
  /// which takes as long as some steps, and returns true. upload() uploads the batch that was prepared last. A device
  /// with its own memory may receive several batches before it runs their steps. Their results cannot be read before
  /// finish(). `purpose`: errors say whether a batch is validation data.
  bool prepare(const Batch& batch);
  void upload(const Batch& batch, Purpose purpose = Purpose::training);
  void finish();
  /// The same after an error. With several processes the batches are forgotten: the others may not run their steps.
  void abandon();
  /// If the data's batches are rows of arrays, and the arrays fit into the memory of all devices, the first step
  /// uploads the arrays, and later passes upload only the order of rows. Call it before the first fetch.
  void select_on_devices(DataAdapter& data) const;
  /// Sets what runs the executions of loops; see replace_execution().
  void replace(std::shared_ptr<ReplacedExecution> execution) { replaced_ = std::move(execution); }
  /// What runs the executions of loops; null: the steps of their batches.
  const std::shared_ptr<ReplacedExecution>& replaced() const { return replaced_; }
  /// Until the next step, the logs and outputs are these.
  void set_result(ExecutionResult result) { result_ = std::move(result); }
  /// Frees the memory of these arrays.
  void release_arrays() { arrays_.release(); }
  /// The logs of the last step: handles, whose values are fetched when they are read.
  Logs& logs();
  /// Starts to fetch the logs and outputs of the last step. Null where the host can read device memory at any time.
  PendingPtr fetch_results();
  /// Adds the memory ranges of the last step's logs, or outputs.
  void add_log_ranges(std::vector<StorageRange>& ranges);
  void add_output_ranges(std::vector<StorageRange>& ranges) const;
  /// Fetches the logs of the last step, if they are valid, before another step of the model overwrites them.
  void keep_logs();
  /// Output `index` of the last step: its shape and dtype, and a copy of it to `out`.
  std::size_t output_count() const;
  Shape output_shape(std::size_t index) const;
  DType output_dtype(std::size_t index) const;
  void read_output(std::size_t index, std::byte* out) const;

  /// The plan that ran last, of the first replica. Null for eager steps, and before the first step.
  const Plan* plan() const;
  /// What each pass of the compiler made of the step that ran last, for the first replica, as text. Traces it again.
  std::string explain_passes() const;
  /// Whether the step was traced, or rehearsed.
  bool traced() const { return !variables_.empty(); }
  /// The variables that the step reads or assigns, in the order of their first use, in its first trace.
  const std::vector<Variable>& variables() const { return variables_; }
  /// The memory of its plans, which all steps of the model share.
  const Replicas& replicas() const { return replicas_; }
  /// The watcher of the first replica, which also times the loop's work; null: none.
  Watcher* watcher() const { return replicas_.arenas.front()->watcher; }
  /// The number of traces of the step.
  int traces() const { return traces_; }
  /// The number of rows that were processed.
  std::int64_t samples() const { return samples_; }

 private:
  struct Compiled;
  static void check_ranges(const Batch& batch, Compiled& compiled, Purpose purpose);
  void upload_rows(const Batch& batch, Compiled& compiled);
  void upload_host_memory(const Batch& batch, Compiled& compiled);
  std::unique_ptr<Compiled> trace(const Batch& batch);
  /// The number of replicas that have a shard of a batch, in all processes.
  int replicas_for(const Batch& batch) const;
  /// The shard of a batch that a replica of this process has, if it is divided among this number of replicas.
  RowRange local_rows(const Batch& batch, int replicas, int replica) const;
  std::int64_t first_row(const Batch& batch, const Compiled& compiled, int replica) const;
  Shard shard_of(const Batch& batch, int replicas, int replica) const;
  void run_eagerly(const Batch& batch, Purpose purpose);
  void forget_outdated_plans();
  void note_variables(const Graph& graph);
  const std::vector<Tensor>* given_outputs() const;

  Step step_;
  Replicas replicas_;
  StepFunctionOptions options_;
  std::vector<std::unique_ptr<Compiled>> compiled_;  // most recently used first
  std::vector<Variable> variables_;
  ResidentArrays arrays_;
  std::vector<std::int64_t> first_rows_;  // by replica of this process: where its shard of the batch begins
  std::shared_ptr<ReplacedExecution> replaced_;
  std::optional<ExecutionResult> result_;
  int traces_ = 0;
  std::int64_t samples_ = 0;
  int changes_ = 0;  ///< of the processes, as in Workers
};

}  // namespace etude
