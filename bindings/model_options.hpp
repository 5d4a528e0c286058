#pragma once

/// The options of models and loops in JavaScript, besides core's.
#include "dicts.hpp"
#include "options.hpp"

namespace etude::js {

/// A step that a user wrote in JavaScript, with its TypeScript type. web/ holds the function, so that the garbage
/// collector can free it together with a model that it references. This struct only says whether there is one.
template <FixedString Type> struct UserStep {
  bool given = false;
};

using CallStep = UserStep<"(x: any, training: boolean) => Nested<Value>">;
using LoggingStep = UserStep<"(data: StepData) => StepLogs">;
using LossStep = UserStep<"(data: StepData, yPred: any) => Value">;
using MetricsStep = UserStep<"(data: StepData, yPred: any, loss: Value | null) => StepLogs">;
using PredictingStep = UserStep<"(data: StepData) => Nested<Value>">;
using TrainMaker = UserStep<"(force: boolean) => TrainFunction">;
using PredictMaker = UserStep<"(force: boolean) => PredictFunction">;

struct SequentialOptions {
  std::string name = {};
  bool trainable = true;
  CallStep call = {};
  LoggingStep train_step = {};
  LoggingStep test_step = {};
  PredictingStep predict_step = {};
  LossStep compute_loss = {};
  MetricsStep compute_metrics = {};
  TrainMaker make_train_function = {}, make_test_function = {};
  PredictMaker make_predict_function = {};
  /// The metrics that its steps update, instead of those of compile().
  std::vector<MetricPtr> metrics = {};
  static constexpr auto fields() {
    return option_rows(
        option<&SequentialOptions::name>("Name of the model."),
        option<&SequentialOptions::trainable>("Whether its variables are trained."),
        option<&SequentialOptions::call>("What the model computes, of Values."),
        option<&SequentialOptions::train_step>("Step of fit; returns logs."),
        option<&SequentialOptions::test_step>("Step of evaluate; returns logs."),
        option<&SequentialOptions::predict_step>("Step of predict; returns outputs."),
        option<&SequentialOptions::compute_loss>(
            "Loss of a batch. Within it, this.computeLoss() is that of compile()."),
        option<&SequentialOptions::compute_metrics>(
            "Logs of a batch. Within it, this.computeMetrics() is that of compile()."),
        option<&SequentialOptions::make_train_function>(
            "Returns what runs the executions of fit. Within it, this.makeTrainFunction() is the default."),
        option<&SequentialOptions::make_test_function>("The same for evaluate."),
        option<&SequentialOptions::make_predict_function>("The same for predict."),
        option<&SequentialOptions::metrics>("Metrics that these steps update and each epoch resets."));
  }
  LayerOptions layer_options() const { return {.name = name, .dtype = {}, .trainable = trainable}; }
};
struct ModelOptions : SequentialOptions {
  std::vector<LayerPtr> layers = {};
  static constexpr auto fields() {
    return option_rows(option<&ModelOptions::layers>("Layers that `call` uses."), SequentialOptions::fields());
  }
};

struct FunctionalOptions : SequentialOptions {
  SymbolicTensors inputs = {}, outputs = {};
  static constexpr auto fields() {
    return option_rows(
        option<&FunctionalOptions::inputs>("Inputs of the model, made by et.input(): one, or lists and objects."),
        option<&FunctionalOptions::outputs>("Outputs of the model: one, or lists and objects."),
        SequentialOptions::fields());
  }
};

struct BatchOptions : etude::BatchOptions {
  bool return_dict = false;
  static constexpr auto fields() {
    return option_rows(etude::BatchOptions::fields(),
                       option<&BatchOptions::return_dict>("Whether the figures are returned by name."));
  }
};
struct EvaluateOptions : etude::EvaluateOptions {
  bool return_dict = false;
  static constexpr auto fields() {
    return option_rows(etude::EvaluateOptions::fields(),
                       option<&EvaluateOptions::return_dict>("Whether the figures are returned by name."));
  }
};

/// How often a fit yields to the page or Node.js. Source: yieldEvery in tfjs-layers/src/base_callbacks.ts.
struct YieldEvery {
  /// "auto" (setYieldEvery), "batch", "epoch", "never", or "" for milliseconds.
  std::string when = "auto";
  double milliseconds = 0;

  const std::string& name() const { return when; }
  GiveTurn give_turn() const {
    if (when == "auto") return {};
    const bool epochs = when == "epoch", never = epochs || when == "never";
    return [=, every = never ? HUGE_VAL : milliseconds](bool epoch_over) -> PendingPtr {
      return epoch_over ? (epochs ? turn_after(0) : nullptr) : turn_after(every);
    };
  }
};
struct FitOptions : etude::FitOptions {
  YieldEvery yield_every = {};
  static constexpr auto fields() {
    return option_rows(
        etude::FitOptions::fields(),
        option<&FitOptions::yield_every>(
            "When the event loop gets its turn: \"auto\", \"batch\", \"epoch\", \"never\", or milliseconds."));
  }
};

template <FixedString Type> struct Conversion<UserStep<Type>> {
  static UserStep<Type> from(const val& value, const Where& where) {
    if (type_of(value) != "function") where.wrong(value, "a function", "pass one");
    return {true};
  }
  static std::string given() { return "(" + std::string(Type.view()) + ")"; }
};

template <> struct Conversion<YieldEvery> {
  static YieldEvery from(const val& value, const Where& where) {
    if (!value.isString()) {
      const auto milliseconds = from_js<double>(value, where);
      if (milliseconds < 0) where.wrong(value, "0 ms or more", "choose how long the loop keeps the thread");
      return {"", milliseconds};
    }
    const auto when = value.as<std::string>();
    if (when != "auto" && when != "batch" && when != "epoch" && when != "never")
      where.wrong(value, given(), "choose one");
    return {when};
  }
  static std::string given() { return "'auto' | 'batch' | 'epoch' | 'never' | number"; }
};

}  // namespace etude::js
