#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/logs.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/distribute/replicated_plan.hpp"
#include "etude/training/resident_arrays.hpp"
#include "etude/training/step.hpp"

namespace etude {

/// What a step makes of a batch: logs, and for predict its outputs.
struct StepResult {
  StepLogs logs;
  std::vector<Value> outputs;
};

struct StepFunctionOptions {
  /// Runs each op as it is traced, and traces anew at each batch, so that Values can be read and printed: those of the
  /// whole batch, as on one replica.
  bool run_eagerly = false;
  /// Called after each trace, before its plan is made: variables may still move here.
  std::function<void(const Graph&)> after_trace = {};
  /// How many batches a device that has a memory of its own may take before their steps run.
  std::int64_t steps_per_execution = 1;
  /// Traces twice and compares: throws Error(state) that names the op where the traces differ.
  bool check_trace = false;
};

/// Logs whose values are known already: they outlive their step.
Logs fetched(const Logs& logs);

/// Between a step and a loop: traces the step once per structure, shapes and dtypes of the batch, compiles a plan, and
/// from then on replays it. Keeps the eight plans used last. Of several replicas each has a plan for its rows; those
/// with as many rows share a trace.
class StepFunction {
 public:
  StepFunction(std::function<StepResult(const StepData&)> step, Replicas replicas, StepFunctionOptions options = {});
  ~StepFunction();

  /// Traces the step for a batch like this one and throws the trace away: all variables that the step makes are there
  /// then, and none has changed.
  void rehearse(const Batch& example);
  /// Runs the step on a batch. Throws Error(data), and runs nothing, where the batch has a label or an index out of its
  /// range.
  void operator()(const Batch& batch);
  /// The same in three parts. prepare() finds the plan for a batch; where there is none it traces and compiles the
  /// step, which takes as long as some steps, and returns true. take() is for the batch that was prepared last: a
  /// device that has a memory of its own may take several before it runs their steps. Their results cannot be read
  /// before finish(). `purpose`: errors say whether a batch is validation data.
  bool prepare(const Batch& batch);
  void take(const Batch& batch, Purpose purpose = Purpose::training);
  void finish();
  /// If the data's batches are rows of arrays, and devices with a memory of their own have room for those, the arrays
  /// are taken there once, by the first step, and of each pass only the order of the rows is. To be called before
  /// the first fetch.
  void select_on_devices(DataAdapter& data) const;
  /// Gives that room back.
  void release_arrays() { arrays_.release(); }
  /// What the last step reported: handles, whose values are fetched when they are read.
  Logs& logs();
  /// Fetches what the last step reported, if it is there still: another step of the model is about to overwrite it.
  void keep_logs();
  /// Output `index` of the last step: its shape and dtype, and a copy of it to `out`.
  std::size_t output_count() const;
  Shape output_shape(std::size_t index) const;
  DType output_dtype(std::size_t index) const;
  void read_output(std::size_t index, std::byte* out) const;

  /// The plan that ran last, of the first replica; null when eager, and before the first step.
  const Plan* plan() const;
  /// Whether the step was traced, or rehearsed.
  bool traced() const { return !variables_.empty(); }
  /// The variables that the step reads or assigns, in the order in which it comes to them; of its first trace.
  const std::vector<Variable>& variables() const { return variables_; }
  /// How often the step was traced.
  int traces() const { return traces_; }
  /// How many rows of data went through it.
  std::int64_t samples() const { return samples_; }

 private:
  struct Compiled;
  static void check_ranges(const Batch& batch, Compiled& compiled, Purpose purpose);
  void take_rows(const Batch& batch, Compiled& compiled);
  void take_host_memory(const Batch& batch, Compiled& compiled);
  std::unique_ptr<Compiled> trace(const Batch& batch);
  /// Those that have a share of a batch.
  int sharing(const Batch& batch) const;
  void run_eagerly(const Batch& batch, Purpose purpose);
  void note_variables(const Graph& graph);

  std::function<StepResult(const StepData&)> step_;
  Replicas replicas_;
  StepFunctionOptions options_;
  std::vector<std::unique_ptr<Compiled>> compiled_;  // the one used last comes first
  std::vector<Variable> variables_;
  ResidentArrays arrays_;
  int traces_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace etude
