#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/training/detail/loop_model.hpp"
#include "etude/training/model.hpp"

// compile(): sets the options of training, and checks that the passed objects belong to the model's strategy.

namespace etude {

void Model::compile(CompileOptions options) {
  check(options.steps_per_execution >= 1, ErrorKind::value, "compile",
        "steps_per_execution = ", options.steps_per_execution, " - expected 1 or more - choose a positive number.");
  if (has_device_libraries)
    check(!options.run_eagerly || (!strategy()->remote() && !strategy()->given_variables()), ErrorKind::value,
          strategy()->name(),
          "run_eagerly = true - When using `Model` with `ParameterServerStrategy`, `run_eagerly` is not supported - "
          "omit it, or compile the model outside the strategy's scope to debug it.");
  if (options.run_eagerly && options.jit_compile.given().value_or(false))
    print_warning({}, spelled("If `run_eagerly` is true, then `jit_compile` cannot also be true. Disabling "
                              "`jit_compile`."));
  check_scope();
  const Strategy::Scope scope(strategy());
  OptimizerPtr optimizer = optimizers::get(options.optimizer);
  CompiledLosses losses(options.loss, options.loss_weights, options.fuse_logits);
  CompiledMetrics metrics(options.metrics, options.weighted_metrics);
  check_created_in_scope(*optimizer, options);

  bool computes_in_float16 = compute_dtype() == DType::float16;
  for (const LayerPtr& layer : layers_inside()) computes_in_float16 |= layer->compute_dtype() == DType::float16;
  if (options.auto_scale_loss && computes_in_float16 && !optimizer->scales_loss()) optimizer->scale_loss_dynamically();

  forget_functions("compile()");
  options_ = std::move(options);
  optimizer_ = std::move(optimizer);
  losses_ = std::move(losses);
  loss_tracker_ = metrics::mean({.name = "loss"});
  metrics_ = std::move(metrics);
  added_metrics_.clear();
  compiled_trainable_.clear();
  compiled_trainable_.emplace_back(LayerPtr(LayerPtr{}, this), trainable());  // does not own the model
  for (const LayerPtr& layer : layers_inside()) compiled_trainable_.emplace_back(layer, layer->trainable());
  compiled_ = true;
  warned_ = false;
}

/// The error's text follows Keras.
void Model::check_scope() const {
  if (!has_strategy() || get_strategy() == strategy()) return;
  const std::vector<Variable> made = variables();
  fail(ErrorKind::state, "compile", made.empty() ? where() : "Variable (" + made.front().name() + ')',
       " was not created in the distribution strategy scope of (", get_strategy()->name(),
       ") - expected layers, model and optimizer to be created within it - create them during strategy->scope().");
}

void Model::check_created_in_scope(const Optimizer& optimizer, CompileOptions& options) const {
  const auto check_all = [&](const std::vector<Variable>& variables, const char* kind, const std::string& name) {
    for (const Variable& variable : variables)
      check(strategy()->variable_created_in_scope(variable), ErrorKind::state, "compile", kind, " (", name,
            ") passed to `model.compile` was created inside a different distribution strategy scope than the model - "
            "expected the scope of the model (in this case ",
            strategy()->name(), ") - create it there, or pass its name.");
  };
  check_all(optimizer.variables(), "Optimizer", optimizer.name());
  for (MetricChoices* choices : {&options.metrics, &options.weighted_metrics})
    choices->for_each([&](const MetricList& list) {
      for (const Choice<Metric>& choice : list)
        if (choice.object()) check_all(choice.object()->variables(), "Metric", choice.object()->name());
    });
}

void Model::forget_functions(std::string_view what) {
  check(!view_->running.loop, ErrorKind::state, where(), what,
        " while a loop runs - expected a call between loops - await fit() first.");
  train_function_ = test_function_ = predict_function_ = nullptr;
}

}  // namespace etude
