#include "etude/training/model.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"
#include "etude/execution/explain.hpp"
#include "etude/execution/plan.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/layers/sampled_shape.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/shape.hpp"
#include "etude/training/detail/compiled_trainable.hpp"
#include "etude/training/detail/remote_steps.hpp"
#include "etude/training/detail/training.hpp"
#include "etude/training/detail/training_loop.hpp"

namespace etude {
namespace {

Tensor only(std::vector<Tensor> outputs, const char* method, const char* of_several) {
  check(outputs.size() == 1, ErrorKind::value, method, "a model with ", outputs.size(),
        " outputs - expected one - call ", of_several, "().");
  return std::move(outputs.front());
}

}  // namespace

class Model::LoopView : public LoopModel {
 public:
  explicit LoopView(Model& model) : model_(model) {}

  Model& model() override { return model_; }
  std::shared_ptr<const void> keep_alive() override { return model_.weak_from_this().lock(); }
  void check_compiled(const char* method) const override { model_.check_compiled(method); }
  bool built() const override { return model_.built(); }
  void build_from(const Batch& example) override {
    std::vector<std::pair<Shape, DType>> inputs;
    for (const Tensor& x : example.x) inputs.emplace_back(x.shape(), x.dtype());
    model_.build_on(inputs, etude::names_of(example).x);
  }
  std::int64_t steps_per_execution() const override { return model_.options_.steps_per_execution; }
  Strategy& strategy() const override { return *model_.strategy(); }
  std::shared_ptr<StepFunction> train_function(bool force) override { return model_.make_train_function(force); }
  std::shared_ptr<StepFunction> test_function(bool force) override { return model_.make_test_function(force); }
  std::shared_ptr<StepFunction> predict_function() override { return model_.make_predict_function(); }
  std::array<std::shared_ptr<StepFunction>, 2> existing_functions() const override {
    return {model_.train_function_, model_.test_function_};
  }
  std::vector<Variable> all_variables() const override { return model_.all_variables(); }
  std::vector<MetricPtr> metrics() const override { return model_.metrics(); }
  void reset_metrics() override { model_.reset_metrics(); }
  void finish_training() override {
    const CompiledTrainable trainable(model_.compiled_trainable_);
    model_.optimizer().finalize_variable_values(model_.trainable_variables());
  }
  bool& stop_training() override { return model_.stop_training; }
  bool& stop_evaluating() override { return model_.stop_evaluating; }
  bool& stop_predicting() override { return model_.stop_predicting; }

 private:
  Model& model_;
};

Model::Model(const LayerOptions& options, std::string_view class_name)
    : Layer(class_name, options), replicas_(replicas_of(get_strategy())), view_(std::make_unique<LoopView>(*this)) {
  keep_input_dtype();  // its layers cast the data to their own compute dtype
}

Model::~Model() = default;

Training* Model::training() const { return view_->running.training; }

Optimizer& Model::optimizer() const {
  check(optimizer_ != nullptr, ErrorKind::state, where(),
        "no optimizer - expected compile() first - call model.compile({.optimizer = …}).");
  return *optimizer_;
}

HistoryPtr Model::fit(const Data& data, const FitOptions& options) { return fit_task(data, options).get(); }
Logs Model::evaluate(const Data& data, const EvaluateOptions& options) { return evaluate_task(data, options).get(); }
std::vector<Tensor> Model::predict_outputs(const Data& x, const PredictOptions& options) {
  return predict_task(x, options).get();
}
Tensor Model::predict(const Data& x, const PredictOptions& options) {
  return only(predict_outputs(x, options), "predict", "predict_outputs");
}

Task<HistoryPtr> Model::fit_task(Data data, FitOptions options) {
  const OnThread thread(*view_, "fit");
  TrainingLoop loop(*view_, "fit", TrainingLoop::Claim::weights);
  co_return co_await loop.fit(std::move(data), std::move(options));
}
Task<Logs> Model::evaluate_task(Data data, EvaluateOptions options) {
  const OnThread thread(*view_, "evaluate");
  TrainingLoop loop(*view_, "evaluate", TrainingLoop::Claim::metrics);
  co_return co_await loop.evaluate(std::move(data), std::move(options));
}
Task<std::vector<Tensor>> Model::predict_task(Data x, PredictOptions options) {
  const OnThread thread(*view_, "predict");
  ConcatenatedPredictions outputs(x.is_arrays() ? x.arrays().size() : 0);
  co_await predict_into(*view_, std::move(x), std::move(options), outputs);
  co_return outputs.concatenated();
}
PredictionStream Model::predict_stream(const Data& x, const PredictOptions& options) { return {*view_, x, options}; }
OutputsStream Model::predict_outputs_stream(const Data& x, const PredictOptions& options) {
  return {*view_, x, options};
}

Batch Model::batch_of(const Data& data, const char* method) const {
  check(
      data.is_arrays(), ErrorKind::value, method, data.to_string(),
      " - expected one batch: tensors or lists - use fit(), evaluate() or predict(), which divide data into batches.");
  Batch batch = data.arrays();
  check_cardinality(batch, method);
  cast_to_floatx(batch);
  return batch;
}

Logs Model::run_on_batch(StepFunction& step, const Data& data, const BatchOptions& options, const char* method) {
  Batch batch = batch_of(data, method);
  if (!options.class_weight.empty()) batch = weighted(std::move(batch), options.class_weight, method);
  if (options.reset_metrics) reset_metrics();
  step(batch);
  return fetched(step.logs());
}

Logs Model::train_on_batch(const Data& batch, const BatchOptions& options) {
  const OnThread thread(*view_, "train_on_batch");
  const TrainingLoop loop(*view_, "train_on_batch", TrainingLoop::Claim::weights);
  check_compiled("train_on_batch");
  if (has_device_libraries) check_trains(*strategy(), "train_on_batch");
  return run_on_batch(*make_train_function(), batch, options, "train_on_batch");
}

Logs Model::test_on_batch(const Data& batch, const BatchOptions& options) {
  const OnThread thread(*view_, "test_on_batch");
  const TrainingLoop loop(*view_, "test_on_batch", TrainingLoop::Claim::metrics);
  check_compiled("test_on_batch");
  return run_on_batch(*make_test_function(), batch, options, "test_on_batch");
}

Tensor Model::predict_on_batch(const Data& x) {
  return only(predict_outputs_on_batch(x), "predict_on_batch", "predict_outputs_on_batch");
}

std::vector<Tensor> Model::predict_outputs_on_batch(const Data& x) {
  const OnThread thread(*view_, "predict_on_batch");
  const TrainingLoop loop(*view_, "predict_on_batch", TrainingLoop::Claim::nothing);
  const auto step = make_predict_function();
  (*step)(batch_of(x, "predict_on_batch"));
  check(step->output_count() > 0, ErrorKind::value, "predict_on_batch",
        "Unexpected result of `predict_function` (Empty batch_outputs) - expected the outputs of its batch - return "
        "them from the function of make_predict_function().");
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < step->output_count(); ++i) {
    outputs.emplace_back(step->output_shape(i), step->output_dtype(i));
    step->read_output(i, outputs.back().raw());
  }
  return outputs;
}

void Model::check_compiled(const char* method) const {
  check(compiled_, ErrorKind::state, method,
        "the model is not compiled - You must compile your model before training/testing - call model.compile({.loss = "
        "…}).");
}

StepLogs Model::train_step(const StepData& data) {
  const Outputs y_pred = (*this)(data.x, true);
  const Value loss = compute_loss(data, y_pred);
  const std::vector<Variable> variables = trainable_variables();
  optimizer().apply(gradients(optimizer().scale_loss(loss), variables), variables);
  return compute_metrics(data, y_pred, loss);
}

StepLogs Model::test_step(const StepData& data) {
  const Outputs y_pred = (*this)(data.x, false);
  return compute_metrics(data, y_pred, compute_loss(data, y_pred));
}

Outputs Model::predict_step(const StepData& data) { return (*this)(data.x, false); }

std::vector<std::string> Model::names_of(const Outputs& outputs) const {
  std::vector<std::string> names = outputs.names().empty() ? output_names() : outputs.names();
  for (std::size_t i = names.size(); i < outputs.size(); ++i) names.push_back("output_" + std::to_string(i + 1));
  return names;
}

Value Model::compute_loss(const StepData& data, const Outputs& y_pred) {
  const std::vector<std::string> names = names_of(y_pred);
  Value total =
      losses_.empty() ? Value{} : losses_(etude::in_order(data, {}, names), y_pred, names, names_in_logs(names));
  const auto add = [&](Value loss) { total = total ? total + loss : loss; };
  for (const Value& loss : regularization_losses()) add(ops::replica_part(loss));
  for (const Value& loss : added_losses()) add(ops::upcast(loss));
  check(static_cast<bool>(total), ErrorKind::state, "compile",
        "No loss to compute - expected a `loss` argument in `compile()` - pass a loss, or override compute_loss().");
  return total;
}

namespace {

/// Of several figures each has its number behind the name.
void append_figures(StepLogs& logs, const std::string& name, Value result) {
  if (result.shape().rank() == 0) return void(logs.emplace_back(name, result));
  const std::int64_t figures = result.shape().size();
  const Value all = ops::reshape(result, {figures});
  for (std::int64_t i = 0; i < figures; ++i) {
    std::string numbered = name + '_' + std::to_string(i);
    const auto taken = [&] { return std::ranges::find(logs, numbered, &StepLogs::value_type::first) != logs.end(); };
    while (taken()) numbered += "_1";
    logs.emplace_back(numbered, ops::reshape(ops::slice(all, 0, i, 1), {}));
  }
}

}  // namespace

StepLogs Model::compute_metrics(const StepData& data, const Outputs& y_pred, Value loss) {
  if (loss) track_loss(*loss_tracker_, loss, data);
  const std::vector<std::string> names = names_of(y_pred);
  metrics_.update(etude::in_order(data, {}, names), y_pred, names, names_in_logs(names));
  StepLogs logs;
  for (const auto& [name, metric] : named_metrics()) append_figures(logs, name, metric->result());
  return logs;
}

void Model::add_metric(Value value, const std::string& name) {
  auto found = std::ranges::find(added_metrics_, name, [](const auto& metric) { return metric->name(); });
  if (found == added_metrics_.end()) found = added_metrics_.insert(found, metrics::mean({.name = name}));
  (*found)->update(value);
}

/// The metrics in the order of logs (L-24). Duplicate names get numbers (M-11).
std::vector<std::pair<std::string, MetricPtr>> Model::named_metrics() const {
  std::vector<std::pair<std::string, MetricPtr>> result;
  const auto add = [&](const std::string& name, const MetricPtr& metric) {
    std::string numbered = name;
    const auto taken = [&] {
      return std::ranges::any_of(result, [&](const auto& entry) { return entry.first == numbered; });
    };
    for (int number = 1; taken(); ++number) numbered = name + '_' + std::to_string(number);
    result.emplace_back(numbered, metric);
  };
  if (loss_tracker_) add(loss_tracker_->name(), loss_tracker_);
  for (const auto& mean : losses_.means()) add(mean->name(), mean);
  for (const CompiledMetrics::Entry& entry : metrics_.entries()) add(entry.name, entry.metric);
  for (const auto& mean : added_metrics_) add(mean->name(), mean);
  return result;
}

std::vector<MetricPtr> Model::metrics() const {
  std::vector<MetricPtr> result;
  for (const auto& [name, metric] : named_metrics()) result.push_back(metric);
  return result;
}

std::vector<std::string> Model::metrics_names() const {
  const auto named = named_metrics();
  std::vector<std::string> result;
  for (const MetricPtr& metric : metrics()) {
    const auto found = std::ranges::find(named, metric, [](const auto& entry) { return entry.second; });
    result.push_back(found == named.end() ? metric->name() : found->first);
  }
  return result;
}

std::string Model::explain(const ExplainOptions& options) const {
  for (const auto& function : {train_function_, test_function_, predict_function_})
    if (function && function->plan())
      return (options.passes ? function->explain_passes() + '\n' : "") + etude::explain(*function->plan());
  fail(ErrorKind::state, where(),
       "explain() before a step was compiled - expected fit, evaluate or predict to have run, "
       "and run_eagerly to be off - run such a loop first.");
}

void Model::reset_metrics() {
  for (const MetricPtr& metric : metrics()) metric->reset_state();
  metrics_.reset_given();
}

std::shared_ptr<StepFunction> Model::make_function(std::function<StepResult(const StepData&)> step,
                                                   std::int64_t steps_per_execution) {
  return std::make_shared<StepFunction>(
      [this, step = std::move(step)](const StepData& data) {
        const Strategy::Scope scope(strategy());
        const CompiledTrainable trainable(compiled_trainable_);
        return step(in_model_order(data));
      },
      replicas_,
      StepFunctionOptions{options_.run_eagerly, [this](const Graph& graph) { place_variables(graph); },
                          steps_per_execution, options_.check_trace});
}

/// Warns if a custom step does not use its optimizer.
void Model::warn_of_idle_step() {
  const auto trains = [](const Graph::Assignment& assignment) { return assignment.variable.trainable(); };
  if (std::ranges::any_of(Graph::current().assignments(), trains) || trainable_variables().empty()) return;
  if (!std::exchange(warned_, true))
    print_warning({}, '[' + where() +
                          "] the train step changes no trainable variable - fit has no effect - call "
                          "optimizer.apply(gradients(loss, variables), variables) in the step.");
}

std::shared_ptr<StepFunction> Model::make_train_function(bool force) {
  if (!train_function_ || force)
    train_function_ = make_function(
        [this](const StepData& data) {
          if (has_device_libraries)
            if (std::vector<Variable>* const given = strategy()->given_variables())
              return trace_gradients(data, *given);
          StepResult result{train_step(data), {}};
          warn_of_idle_step();
          return result;
        },
        options_.steps_per_execution);
  return train_function_;
}
std::shared_ptr<StepFunction> Model::make_test_function(bool force) {
  if (!test_function_ || force)
    test_function_ = make_function([this](const StepData& data) { return StepResult{test_step(data), {}}; },
                                   options_.steps_per_execution);
  return test_function_;
}
std::shared_ptr<StepFunction> Model::make_predict_function(bool force) {
  if (!predict_function_ || force)
    predict_function_ = make_function([this](const StepData& data) {
      Outputs outputs = predict_step(data);
      prediction_keys_ = outputs.names();
      for (Value& output : outputs) output = ops::upcast(output);
      return StepResult{{}, std::move(outputs)};
    });
  return predict_function_;
}

/// Places trainable variables, then each kind of slot in the same order, then the other variables: one block, in which
/// an update is one pass. Later variables, and variables that another model placed, are in their own blocks. All
/// variables of the graph are placed now, also those of a second optimizer or of other models: none may move after a
/// plan has their addresses.
void Model::place_variables(const Graph& graph) {
  std::vector<Variable> all = all_variables();
  for (const Node& node : graph.nodes())
    if (const auto* read = std::get_if<op::Read>(&node.op)) all.push_back(read->variable);
  strategy()->place(all);
}

std::vector<Variable> Model::all_variables() const {
  std::vector<Variable> all = trainable_variables();
  const auto add = [&](const std::vector<Variable>& variables) {
    all.insert(all.end(), variables.begin(), variables.end());
  };
  if (optimizer_) {
    for (const auto& kind : optimizer_->slots()) add(kind);
    add(optimizer_->variables());
  }
  add(variables());
  for (const MetricPtr& metric : metrics()) add(metric->variables());
  return all;
}

LayerPtr Model::get_layer(std::string_view name) const {
  std::string known;
  for (const LayerPtr& layer : layers()) {
    if (layer->name() == name) return layer;
    known += (known.empty() ? "" : ", ") + layer->name();
  }
  fail(ErrorKind::value, where(), "get_layer(\"", name, "\") - expected one of: ", known, " - check the layer's name.");
}

LayerPtr Model::get_layer(std::size_t index) const {
  const std::vector<LayerPtr> all = layers();
  check(index < all.size(), ErrorKind::value, where(), "get_layer(", index, ") - expected an index below ", all.size(),
        " - check the index.");
  return all[index];
}

void Model::build(const Shape& input_shape) {
  if (Graph::tracing() || built()) return;  // within a trace, call builds the layers
  Shape shape = input_shape;
  for (const std::int64_t extent : shape)
    check(extent >= -1, ErrorKind::shape, where(), "build() for inputs of shape ", input_shape,
          " - expected extents of 0 or more, or -1 for unknown ones - check the shape.");
  if (shape.rank() && shape[0] < 0) shape[0] = 1;
  if (std::ranges::count(shape, -1)) {
    const Strategy::Scope scope(strategy());
    return build_for_any(*this, shape, floatx());
  }
  build_on({{shape, floatx()}});
}

void Model::build_on(const std::vector<std::pair<Shape, DType>>& inputs, const std::vector<std::string>& names) {
  const Strategy::Scope scope(strategy());
  Graph graph;
  const Trace trace(graph);
  StepData data;
  data.names.x = names;
  for (const auto& [shape, dtype] : inputs) data.x.push_back(graph.input(shape, dtype));
  (*this)(in_model_order(data).x, false);
}

}  // namespace etude
