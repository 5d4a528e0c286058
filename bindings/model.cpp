/// The interface of models, and models whose steps are written in JavaScript. web/src/model.ts holds the handles.
#include "bind.hpp"
#include "model_options.hpp"
#include "user_functions.hpp"

namespace etude::js {
namespace {

/// The user's steps.
struct UserSteps : UserFunctions {
  SequentialOptions given;
  /// The last function that each maker replaced.
  std::map<std::string_view, std::weak_ptr<StepFunction>> made = {};

  /// `function`, whose executions the function that `maker` returns runs, if there is a maker. It is called once for
  /// each function.
  std::shared_ptr<StepFunction> replaced(std::shared_ptr<StepFunction> function, bool is_given, const char* maker,
                                         bool force) {
    std::weak_ptr<StepFunction>& last = made[maker];
    if (!is_given || last.lock() == function) return function;
    const std::shared_ptr<StepFunction> before = std::exchange(function_being_made, function);
    try {
      call(maker, {val(force)});
    } catch (...) {
      function_being_made = before;
      throw;
    }
    function_being_made = before;
    last = function;
    return function;
  }
};

/// Sets a flag while it exists.
class Within {
 public:
  explicit Within(bool& flag) : flag_(flag) { flag_ = true; }
  ~Within() { flag_ = false; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  bool& flag_;
};

/// A model with some steps in JavaScript.
template <class Parent> class JavaScriptModel : public Parent, public UserLayer {
 public:
  template <class... Arguments>
  JavaScriptModel(UserSteps steps, Arguments&&... arguments)
      : Parent(std::forward<Arguments>(arguments)...), steps_(std::move(steps)) {}

  Outputs call_with(const std::vector<Value>& inputs, bool training) override {
    if (!steps_.given.call.given) return Parent::call_with(inputs, training);
    return steps_.run<Outputs>("call", named(inputs), training);
  }
  std::vector<std::string>* call_names() override { return steps_.given.call.given ? &call_names_ : nullptr; }
  const UserFunctions& functions() const override { return steps_; }
  std::vector<MetricPtr> metrics() const override {
    return steps_.given.metrics.empty() ? Parent::metrics() : steps_.given.metrics;
  }
  StepLogs train_step(const StepData& data) override {
    return steps_.given.train_step.given ? steps_.run<StepLogs>("trainStep", data) : Parent::train_step(data);
  }
  StepLogs test_step(const StepData& data) override {
    return steps_.given.test_step.given ? steps_.run<StepLogs>("testStep", data) : Parent::test_step(data);
  }
  Outputs predict_step(const StepData& data) override {
    return steps_.given.predict_step.given ? steps_.run<Outputs>("predictStep", data) : Parent::predict_step(data);
  }
  Value compute_loss(const StepData& data, const Outputs& y_pred) override {
    if (!steps_.given.compute_loss.given || in_loss_) return Parent::compute_loss(data, y_pred);
    const Within within(in_loss_);
    return steps_.run<Value>("computeLoss", data, y_pred);
  }
  StepLogs compute_metrics(const StepData& data, const Outputs& y_pred, Value loss) override {
    if (!steps_.given.compute_metrics.given || in_metrics_) return Parent::compute_metrics(data, y_pred, loss);
    const Within within(in_metrics_);
    return steps_.run<StepLogs>("computeMetrics", data, y_pred, loss);
  }
  std::shared_ptr<StepFunction> make_train_function(bool force) override {
    return steps_.replaced(Parent::make_train_function(force), steps_.given.make_train_function.given,
                           "makeTrainFunction", force);
  }
  std::shared_ptr<StepFunction> make_test_function(bool force) override {
    return steps_.replaced(Parent::make_test_function(force), steps_.given.make_test_function.given, "makeTestFunction",
                           force);
  }
  std::shared_ptr<StepFunction> make_predict_function(bool force) override {
    return steps_.replaced(Parent::make_predict_function(force), steps_.given.make_predict_function.given,
                           "makePredictFunction", force);
  }

 private:
  UserSteps steps_;
  /// Whether the user's function runs, which may call that of Parent.
  bool in_loss_ = false, in_metrics_ = false;
};

/// A model of layers whose `call` is in JavaScript.
class FreeModel : public Model {
 public:
  FreeModel(std::vector<LayerPtr> layers, const LayerOptions& options) : Model(options), layers_(std::move(layers)) {}
  Value call(Value, bool) override { return {}; }
  std::vector<LayerPtr> layers() const override { return layers_; }

 private:
  std::vector<LayerPtr> layers_;
};

/// A layer of a Sequential.
struct SequentialElement {
  LayerPtr layer;
};

/// Logs as one number, a list of numbers or, on request, an object (L-25).
struct Figures {
  Logs logs;
  bool as_dict;
};

Sequential& sequential(Model& model, const char* method) {
  auto* result = dynamic_cast<Sequential*>(&model);
  check(result != nullptr, ErrorKind::state, method,
        "a model that is not sequential - expected one - make it by et.sequential().");
  return *result;
}

Task<Figures> evaluate(ModelPtr model, Data data, EvaluateOptions options) {
  co_return Figures{co_await model->evaluate_task(std::move(data), options), options.return_dict};
}
Task<HistoryPtr> fit(ModelPtr model, Data data, FitOptions options) {
  options.give_turn = options.yield_every.give_turn();
  co_return co_await model->fit_task(std::move(data), std::move(options));
}
Task<std::vector<Tensor>> predict(ModelPtr model, Data data, PredictOptions options) {
  co_return co_await model->predict_task(std::move(data), std::move(options));
}

}  // namespace

/// An input stands for its InputLayer.
template <> struct Conversion<SequentialElement> {
  static SequentialElement from(const val& value, const Where& where) {
    if (!Conversion<SymbolicTensor>::is(value)) return {from_js<LayerPtr>(value, where)};
    const auto call = from_js<SymbolicTensor>(value, where).call();
    if (!call->inputs.empty()) where.wrong(value, "a layer, or an input", "make one by et.input(), or pass its layer");
    return {call->layer};
  }
  static std::string given() { return "LayerLike | SymbolicTensor"; }
};

template <> struct Conversion<Figures> {
  static val to(const Figures& figures) {
    if (figures.as_dict) return to_js(figures.logs);
    std::vector<double> values;
    for (const auto& [name, value] : figures.logs.values()) values.push_back(value);
    return values.size() == 1 ? val(values.front()) : to_js(values);
  }
  static std::string made() { return "number | number[] | Record<string, number>"; }
};

EMSCRIPTEN_BINDINGS(model) {
  if (in_worker()) return;
  emscripten::class_<Model, emscripten::base<Layer>>("Model").smart_ptr<ModelPtr>("ModelPointer");

  bind<"model.sequential(layers, options, link)",
       [](std::vector<SequentialElement> layers, SequentialOptions options, val link) -> ModelPtr {
         std::vector<LayerPtr> all;
         for (SequentialElement& each : layers) all.push_back(std::move(each.layer));
         return std::make_shared<JavaScriptModel<Sequential>>(UserSteps{{.link = link}, options}, std::move(all),
                                                              options.layer_options());
       }>();
  bind<"model.free(options, link)", [](ModelOptions options, val link) -> ModelPtr {
    check(options.call.given, ErrorKind::value, "model",
          "no function `call` - expected one that computes the outputs from x - write "
          "et.model({layers, call(x, training) {…}}).");
    return std::make_shared<JavaScriptModel<FreeModel>>(UserSteps{{.link = link}, options}, options.layers,
                                                        options.layer_options());
  }>();
  bind<"model.functional(options, link)", [](FunctionalOptions options, val link) -> ModelPtr {
    return std::make_shared<JavaScriptModel<Functional>>(UserSteps{{.link = link}, options}, options.inputs,
                                                         options.outputs, options.layer_options());
  }>();
  bind<"model.add(model, layer)",
       [](ModelPtr model, SequentialElement layer) { sequential(*model, "add").add(std::move(layer.layer)); }>();
  bind<"model.pop(model)", [](ModelPtr model) { sequential(*model, "pop").pop(); }>();

  bind<"compile(model, options)", [](ModelPtr model, CompileOptions options) {
    options.optimizer = optimizers::get(options.optimizer);  // an object, to which JavaScript may have a handle
    model->compile(std::move(options));
  }>();
  bind<"fit(model, data, options)", fit>();
  bind<"evaluate(model, data, options)", evaluate>();
  bind<"predict(model, data, options)", predict>();
  bind<"train_on_batch(model, batch, options)", [](ModelPtr model, Data batch, BatchOptions options) {
    return Figures{model->train_on_batch(batch, options), options.return_dict};
  }>();
  bind<"test_on_batch(model, batch, options)", [](ModelPtr model, Data batch, BatchOptions options) {
    return Figures{model->test_on_batch(batch, options), options.return_dict};
  }>();
  bind<"predict_on_batch(model, batch)",
       [](ModelPtr model, Data batch) { return model->predict_outputs_on_batch(batch); }>();

  bind<"compute_loss(model, data, y_pred)",
       [](ModelPtr model, StepData data, Outputs y_pred) { return model->compute_loss(data, y_pred); }>();
  bind<"compute_metrics(model, data, y_pred, loss?)", [](ModelPtr model, StepData data, Outputs y_pred, Value loss) {
    return model->compute_metrics(data, y_pred, loss);
  }>();
  bind<"add_loss(model, loss)", [](ModelPtr model, Value loss) { model->add_loss(loss); }>();
  bind<"add_metric(model, value, name)",
       [](ModelPtr model, Value value, std::string name) { model->add_metric(value, name); }>();
  bind<"model.input_names(model)", [](ModelPtr model) { return model->input_names(); }>();
  bind<"model.output_names(model)", [](ModelPtr model) { return model->output_names(); }>();
  bind<"model.prediction_keys(model)", [](ModelPtr model) { return model->prediction_keys(); }>();

  bind<"model.compiled(model)", [](ModelPtr model) { return model->compiled(); }>();
  bind<"model.optimizer(model)", [](ModelPtr model) {
    static_cast<void>(model->optimizer());  // throws before compile
    return model->compile_options().optimizer.object();
  }>();
  bind<"model.layers(model)", [](ModelPtr model) { return model->layers(); }>();
  bind<"get_layer(model, name_or_index)", [](ModelPtr model, val which) {
    return which.isString() ? model->get_layer(which.as<std::string>())
                            : model->get_layer(from_js<unsigned>(which, {"getLayer", "index"}));
  }>();
  bind<"model.metrics_names(model)", [](ModelPtr model) { return model->metrics_names(); }>();
  bind<"model.metrics(model)", [](ModelPtr model) { return model->metrics(); }>();
  bind<"model.reset_metrics(model)", [](ModelPtr model) { model->reset_metrics(); }>();
  bind<"build(model, input_shape)", [](ModelPtr model, Shape input_shape) { model->build(input_shape); }>();
  bind<"explain(model, options)", [](ModelPtr model, ExplainOptions options) { return model->explain(options); }>();
  bind<"summary(model, options, print_fn?)",
       [](ModelPtr model, SummaryOptions options, std::optional<std::function<void(std::string_view)>> print_fn) {
         options.print_fn = print_fn.value_or(nullptr);
         model->summary(options);
       }>();
  bind<"model.stop_training(model)", [](ModelPtr model) { return model->stop_training; }>();
  bind<"model.set_stop_training(model, stop)", [](ModelPtr model, bool stop) { model->stop_training = stop; }>();
  bind<"model.stop_evaluating(model)", [](ModelPtr model) { return model->stop_evaluating; }>();
  bind<"model.set_stop_evaluating(model, stop)", [](ModelPtr model, bool stop) { model->stop_evaluating = stop; }>();
  bind<"model.stop_predicting(model)", [](ModelPtr model) { return model->stop_predicting; }>();
  bind<"model.set_stop_predicting(model, stop)", [](ModelPtr model, bool stop) { model->stop_predicting = stop; }>();
}

}  // namespace etude::js
