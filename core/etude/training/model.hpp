#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/distribute/replicas.hpp"
#include "etude/layers/layer.hpp"
#include "etude/training/detail/compiled_losses.hpp"
#include "etude/training/detail/compiled_metrics.hpp"
#include "etude/training/execution_function.hpp"
#include "etude/training/export_options.hpp"
#include "etude/training/history.hpp"
#include "etude/training/load_weights_options.hpp"
#include "etude/training/options.hpp"
#include "etude/training/prediction_stream.hpp"
#include "etude/training/save_options.hpp"
#include "etude/training/step.hpp"

namespace etude {

class Model;
// Declared here because core/etude/saving/detail/save_model.hpp includes this file.
/// Implements Model::save.
void save_model(const Model& model, const std::string& folder, const SaveOptions& options);
/// Implements Model::save_weights.
void save_weights(const Model& model, const std::string& path, const SaveOptions& options);
/// Implements Model::load_weights.
void load_weights(Model& model, const std::string& path, const LoadWeightsOptions& options);
/// Implements Model::load_weights_task.
Task<> load_weights_task(Model& model, std::string path, LoadWeightsOptions options);
/// The same, of the bytes of a file.
void load_weights(Model& model, std::span<const std::byte> bytes, const LoadWeightsOptions& options);
/// Implements Model::export_model.
void export_model(Model& model, const std::string& filepath, const ExportOptions& options);

class LoopModel;
class StepFunction;
class Training;
struct StepResult;

/// Options of Model::summary.
struct SummaryOptions {
  /// The receiver of the text; stdout if empty.
  std::function<void(std::string_view)> print_fn = {};
  /// Whether the layers of models inside the model are listed, too.
  bool expand_nested = false;
  /// Whether a column says which layers are trainable.
  bool show_trainable = false;
  /// The names of the first and the last layer that are listed, or their beginnings; empty: all.
  std::vector<std::string> layer_range = {};
  /// The options without print_fn.
  template <class O = SummaryOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::expand_nested>("Whether the layers of models inside the model are listed, too."),
        option<&O::show_trainable>("Whether a column says which layers are trainable."),
        option<&O::layer_range>(
            "Names of the first and the last layer that are listed, or their beginnings. Default: all layers."));
  }
};

/// Options of Model::explain.
struct ExplainOptions {
  /// Whether the text begins with the result of each pass of the compiler.
  bool passes = false;

  template <class O = ExplainOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::passes>("Whether the text begins with the result of each pass of the compiler: nodes are \"%3\", "
                           "groups \"#2\", blocks of memory \"&1\"."));
  }
};

/// A layer that can be trained. Subclasses override `call`, and optionally `train_step` and similar functions:
///
///     StepLogs train_step(const StepData& data) override {
///       Value y = (*this)(data.x[0], true);
///       Value loss = compute_loss(data, y);
///       optimizer().apply(gradients(loss, trainable_variables()), trainable_variables());
///       return compute_metrics(data, y, loss);
///     }
///
/// A step is traced once per batch shape and then replayed. Source: keras/src/models/model.py,
/// keras/engine/training.py.
class Model : public Layer {
 public:
  /// A model of the class `class_name`; `options` may set its name.
  explicit Model(const LayerOptions& options = {}, std::string_view class_name = "Model");
  ~Model() override;

  /// Configures the training. Keeps the weights, and discards metrics and compiled steps (L-29). Throws Error(value)
  /// for unknown names, listing those that exist; Error(state) within the scope of another strategy than the model's,
  /// and for an optimizer or metric that was made in such a scope.
  void compile(CompileOptions options);
  /// Whether compile was called.
  bool compiled() const { return compiled_; }

  /// Trains for epochs - initial_epoch epochs. Throws Error(state) before compile, within a step, or while another loop
  /// of this model runs. Different models may run on different threads; of one model, loops on a second thread throw
  /// Error(state). Callbacks may evaluate and predict; predict may be called at any time between steps.
  HistoryPtr fit(const Data& data, const FitOptions& options = {});
  HistoryPtr fit(const Tensor& x, const Tensor& y, const FitOptions& options = {}) { return fit(Data(x, y), options); }
  HistoryPtr fit(const Tensor& x, const Tensor& y, const Tensor& sample_weight, const FitOptions& options = {}) {
    return fit(Data(x, y, sample_weight), options);
  }
  /// Loss and metrics over the data, by name.
  Logs evaluate(const Data& data, const EvaluateOptions& options = {});
  Logs evaluate(const Tensor& x, const Tensor& y, const EvaluateOptions& options = {}) {
    return evaluate(Data(x, y), options);
  }
  /// The outputs for all rows of x, concatenated along axis 0.
  Tensor predict(const Data& x, const PredictOptions& options = {});
  /// The same for a model of several outputs: a Tensor for each.
  std::vector<Tensor> predict_outputs(const Data& x, const PredictOptions& options = {});
  /// The same for a model whose outputs are a dict: a Tensor for each name, or for each path in nested lists and dicts.
  /// Throws Error(value) for other models.
  NamedTensors predict_named(const Data& x, const PredictOptions& options = {});

  /// The same, batch by batch, so that the rows need not fit into memory.
  PredictionStream predict_stream(const Data& x, const PredictOptions& options = {});
  /// The same for a model of several outputs, with a Tensor for each.
  OutputsStream predict_outputs_stream(const Data& x, const PredictOptions& options = {});

  /// The same as coroutines, for callers whose callbacks or generators must be awaited.
  Task<HistoryPtr> fit_task(Data data, FitOptions options);
  /// evaluate as a coroutine.
  Task<Logs> evaluate_task(Data data, EvaluateOptions options);
  /// predict_outputs as a coroutine.
  Task<std::vector<Tensor>> predict_task(Data x, PredictOptions options);

  /// One step on one batch: tensors or lists. Throws Error(value) for data that consists of batches.
  Logs train_on_batch(const Data& batch, const BatchOptions& options = {});
  Logs train_on_batch(const Tensor& x, const Tensor& y, const BatchOptions& options = {}) {
    return train_on_batch(Data(x, y), options);
  }
  /// Loss and metrics of one batch, without an update.
  Logs test_on_batch(const Data& batch, const BatchOptions& options = {});
  Logs test_on_batch(const Tensor& x, const Tensor& y, const BatchOptions& options = {}) {
    return test_on_batch(Data(x, y), options);
  }
  /// The output for one batch.
  Tensor predict_on_batch(const Data& x);
  /// The outputs for one batch.
  std::vector<Tensor> predict_outputs_on_batch(const Data& x);
  /// The same for a model whose outputs are a dict.
  NamedTensors predict_named_on_batch(const Data& x);
  /// Calls a model on inputs by name, outside a step; its outputs are a dict. Throws Error(data) for a missing input,
  /// Error(value) for a model of other outputs.
  NamedTensors call_named(const NamedTensors& inputs, bool training = false);

  /// The step on one batch, within a trace.
  virtual StepLogs train_step(const StepData& data);
  /// The step of evaluate and validations on one batch, within a trace.
  virtual StepLogs test_step(const StepData& data);
  /// The step of predict on one batch, within a trace.
  virtual Outputs predict_step(const StepData& data);
  /// The reduced loss of a batch: the loss of each output times its weight, regularizers, and the losses of add_loss
  /// (L-23). On a replica it is that replica's part: the sum over all replicas is the loss. Throws Error(state) if
  /// there is no loss, Error(data) without targets.
  virtual Value compute_loss(const StepData& data, const Outputs& y_pred);
  /// Updates loss and metrics and returns their current values: the result of train_step. Of a metric with several
  /// figures each has a log, whose number follows the metric's name: "f1_score_0".
  virtual StepLogs compute_metrics(const StepData& data, const Outputs& y_pred, Value loss);
  /// Within a step: logs the mean of `value` over the epoch, under this name.
  void add_metric(Value value, const std::string& name);
  /// The compiled step of fit. Overridable, also with replace_execution(); kept until compile, or until `force`.
  virtual std::shared_ptr<StepFunction> make_train_function(bool force = false);
  /// The compiled step of evaluate. Overridable; kept until compile, or until force.
  virtual std::shared_ptr<StepFunction> make_test_function(bool force = false);
  /// The compiled step of predict. Overridable; kept until compile, or until force.
  virtual std::shared_ptr<StepFunction> make_predict_function(bool force = false);

  /// The optimizer. Throws Error(state) before compile.
  Optimizer& optimizer() const;
  /// The mean of the loss, the means of single outputs if there are several, the compiled metrics, and those of
  /// add_metric. Override it to list the metrics that a custom step updates: listed metrics are reset with each epoch.
  virtual std::vector<MetricPtr> metrics() const;
  /// The names of metrics(), as they are logged.
  std::vector<std::string> metrics_names() const;
  /// Resets all metrics to their initial states.
  void reset_metrics();
  /// The running fit, or null.
  Training* training() const;
  /// The options passed to compile.
  const CompileOptions& compile_options() const { return options_; }
  /// Whether the model, and each layer inside, was trainable when it was compiled.
  const std::vector<std::pair<LayerPtr, bool>>& compiled_trainable() const { return compiled_trainable_; }
  /// The strategy of the model.
  const StrategyPtr& strategy() const { return replicas_.strategy; }

  /// The names of outputs in data, losses, metrics and logs; in nested lists and dicts their paths: "boxes/0". Default:
  /// "output_1", …
  virtual std::vector<std::string> output_names() const { return {}; }
  /// The names of inputs in data by name; in nested lists and dicts their paths. Default: "input_1", …
  virtual std::vector<std::string> input_names() const { return {}; }
  /// input_names(), if the inputs are a dict; else empty.
  virtual std::vector<std::string> input_keys() const { return {}; }
  /// The names of the last predictions, in their order, if they were a dict; else empty.
  const std::vector<std::string>& prediction_keys() const { return prediction_keys_; }
  /// The layer of that name. Throws Error(value), listing all names, if there is none.
  LayerPtr get_layer(std::string_view name) const;
  /// The layer with that index. Throws Error(value) if there are fewer layers.
  LayerPtr get_layer(std::size_t index) const;
  /// Builds the layers for float inputs of this shape, batch axis included, without data. -1 is an unknown extent.
  void build(const Shape& input_shape) override;
  /// Prints layers, output shapes and parameters, in the format of Keras. Throws Error(value) for a layer_range that is
  /// not two names of layers, or of their beginnings.
  void summary(const SummaryOptions& options = {}) const;

  /// The compiled step of fit, or of evaluate or predict if fit has not run: one line for each instruction, with its
  /// fused ops and its cost, and the total memory. Throws Error(state) before a step was compiled, and for a model that
  /// runs eagerly.
  std::string explain(const ExplainOptions& options = {}) const;

  /// Saves the model, its compile options and its optimizer's state to a folder of checkpoints, which holds one; or to
  /// one file, if the name ends with ".keras", which Keras 3 loads. Loading finds the previous model or this one,
  /// complete, even after a crash. If the name ends with ".json", as "folder/model.json", TensorFlow.js loads that file
  /// and those of weights beside it, of at most 4 MiB; they have neither compile options nor an optimizer, and layers
  /// that TensorFlow.js lacks are an Error(value). load_model() restores all of them. A .keras file lacks the state of
  /// random draws, and that of custom optimizers, with a warning; functions that have no name leave it without compile
  /// options. Throws Error(value) for a model of a custom class that is not registered, in a folder also for functions
  /// that have no name, and for names of unsupported formats and places, such as "model.onnx" and
  /// "localstorage://model"; Error(io), also if overwrite is false and there is something of that name.
  void save(const std::string& folder, const SaveOptions& options = {}) const { save_model(*this, folder, options); }
  /// Saves only the weights, to a file whose name ends with ".safetensors", with ".npz" for NumPy, or with
  /// ".weights.h5" for Keras. The names of tensors are their layers' paths in the model, such as "dense_1/kernel", and
  /// Keras's names in ".weights.h5". Throws Error(value) for other names of files, Error(state) for a model that is not
  /// built, and Error(io), also if overwrite is false and the file exists.
  void save_weights(const std::string& path, const SaveOptions& options = {}) const {
    etude::save_weights(*this, path, options);
  }
  /// Loads only the weights, from a file that save_weights wrote or from one of another library: safetensors, arrays of
  /// NumPy (.npz), files of Keras (.weights.h5, .keras, and .h5 of Keras 2), the model.json of TensorFlow.js, an index
  /// of several files, .weights.json of Keras and model.safetensors.index.json of Hugging Face, with these beside it,
  /// or a checkpoint of TensorFlow, "folder/ckpt" for the files folder/ckpt.index and so on, of a model of the same
  /// layers. Or from a folder that save() wrote, or one of checkpoints: those of the newest one. `options` rename
  /// tensors, and transpose those of PyTorch. Values of other dtypes are converted. Loading sets all weights or none:
  /// throws Error(data) for a file that is damaged or has other tensors than the model, Error(value) for other formats,
  /// with the way to convert them, Error(state) for a model that is not built, Error(io).
  void load_weights(const std::string& path, const LoadWeightsOptions& options = {}) {
    etude::load_weights(*this, path, options);
  }
  /// The same as a coroutine, for files that throw BytesAwaited. The model must outlive it.
  Task<> load_weights_task(std::string path, LoadWeightsOptions options) {
    return etude::load_weights_task(*this, std::move(path), std::move(options));
  }
  /// The same from the bytes of such a file.
  void load_weights(std::span<const std::byte> bytes, const LoadWeightsOptions& options = {}) {
    etude::load_weights(*this, bytes, options);
  }

  /// Exports what the model computes with `training` false, its layers and weights, to a file of ONNX that ONNX Runtime
  /// and others run. Keras's Model.export.
  ///
  ///     model.export_model("model.onnx");
  ///
  /// The number of rows may be any, unless input_signature sets it. Inputs and outputs have the model's names. Throws
  /// Error(value) for an op without a form in ONNX, such as a random draw, for a model that changes a variable when it
  /// is called, or whose ops depend on the number of rows, and for options that are not supported;
  /// Error(state) for a model that is not built, for one whose inputs are not known, and in builds without protozero;
  /// Error(io).
  void export_model(const std::string& filepath, const ExportOptions& options = {}) {
    etude::export_model(*this, filepath, options);
  }

  /// Callbacks set these. fit stops after this execution, its epoch's validation and on_epoch_end; evaluate and predict
  /// stop after this execution.
  bool stop_training = false, stop_evaluating = false, stop_predicting = false;

 protected:
  /// Where the names of the next call's inputs are put, for a model whose `call` gets inputs by name; null for others.
  virtual std::vector<std::string>* call_names() { return nullptr; }
  /// The inputs of each of layers(), as in summary(): "dense[1][0]" is the first output of the second call of "dense".
  /// Empty for a model whose layers form a sequence.
  virtual std::vector<std::string> connections() const { return {}; }
  /// The names in logs of outputs that have these names. Default: the same, with the keys of nested dicts as they are.
  virtual std::vector<std::string> names_in_logs(const std::vector<std::string>& outputs) const;
  /// Discards the compiled steps. Call it when their traces are outdated. Throws Error(state) while a loop runs.
  void forget_functions(std::string_view what);

 private:
  /// The loops' view of the model.
  class LoopView;
  void check_compiled(const char* method) const;
  Batch batch_of(const Data& data, const char* method) const;
  Logs run_on_batch(StepFunction& step, const Data& data, const BatchOptions& options, const char* method);
  std::shared_ptr<StepFunction> make_function(std::function<StepResult(const StepData&)> step,
                                              std::int64_t steps_per_execution = 1);
  std::vector<std::string> names_of(const Outputs& outputs) const;
  std::vector<std::pair<std::string, MetricPtr>> named_metrics() const;
  void build_on(const std::vector<std::pair<Shape, DType>>& inputs, const std::vector<std::string>& names = {});
  StepData in_model_order(const StepData& data);
  /// The weights, then each kind of the optimizer's slots in the same order, then all others.
  std::vector<Variable> all_variables() const;
  void place_variables(const Graph& graph);
  void warn_of_idle_step();
  StepResult trace_gradients(const StepData& data, std::vector<Variable>& given);
  void check_scope() const;
  void check_created_in_scope(const Optimizer& optimizer, CompileOptions& options) const;

  Replicas replicas_;
  CompileOptions options_;
  OptimizerPtr optimizer_;
  CompiledLosses losses_;
  std::shared_ptr<Mean> loss_tracker_;
  CompiledMetrics metrics_;
  std::vector<std::shared_ptr<Mean>> added_metrics_;
  std::vector<std::pair<LayerPtr, bool>> compiled_trainable_;
  std::shared_ptr<StepFunction> train_function_, test_function_, predict_function_;
  std::vector<std::string> prediction_keys_;
  bool compiled_ = false, warned_ = false;
  std::unique_ptr<LoopModel> view_;
};
using ModelPtr = std::shared_ptr<Model>;

}  // namespace etude
