#include "conformance.hpp"
#include "etude/etude.hpp"
#include "etude/ops/elementwise.hpp"
#include "support.hpp"

// The cases of the classes around variables: optimizers, schedules, initializers, regularizers, constraints.
namespace etude::conformance {
namespace {

using testing::Compiled;

Tensor compute(const std::vector<Tensor>& inputs, const testing::Function& function) {
  return testing::run_on(default_device(), inputs, function);
}

/// The variables of a case; names that it does not set are arbitrary.
std::vector<Variable> variables_of(const json& given) {
  std::vector<Variable> variables;
  for (const json& variable : given) {
    const json& name = variable.at("name");
    variables.emplace_back(name.is_null() ? "variable_" + std::to_string(variables.size()) : name.get<std::string>(),
                           tensor_of(variable.at("value")));
  }
  return variables;
}

/// The values at a checkpoint: a variable, its average, which is the first kind of slot, or a counter.
Tensor looked_at(const json& checkpoint, const Optimizer& optimizer, const std::vector<Variable>& variables) {
  if (checkpoint.contains("variable")) return variables.at(checkpoint.at("variable")).value();
  if (checkpoint.contains("ema")) return optimizer.slots().at(0).at(checkpoint.at("ema")).value();
  if (checkpoint.at("counter") != "iterations") throw Missing("checkpoint " + checkpoint.dump());
  return testing::tensor_of({}, DType::float64, {static_cast<double>(optimizer.iterations())});
}

}  // namespace

std::string run_optimizer(const json& test) {
  const json& config = test.at("config");
  json options = config;
  options.erase("exclude_from_weight_decay_vars");
  options.erase("exclude_from_weight_decay_names");
  const OptimizerPtr optimizer = make<Optimizer>(test.at("target"), options);
  const std::vector<Variable> variables = variables_of(list_in(test.at("inputs"), "variables"));
  std::vector<Variable> excluded;
  for (const json& index : config.value("exclude_from_weight_decay_vars", json::array()))
    excluded.push_back(variables.at(index));
  optimizer->exclude_from_weight_decay(
      excluded, config.value("exclude_from_weight_decay_names", json::array()).get<std::vector<std::string>>());
  int done = 0;
  for (const json& gradients : list_in(test.at("inputs"), "grads_per_step")) {
    if (!gradients.is_array() || gradients.size() != variables.size()) throw Missing("gradients " + gradients.dump());
    std::vector<Tensor> given;
    for (const json& gradient : gradients)
      if (!gradient.is_null()) given.push_back(tensor_of(gradient));
    Compiled step(given, [&](Graph&, std::span<const Value> x) {
      std::vector<Value> values;
      std::size_t next = 0;
      for (const json& gradient : gradients) values.push_back(gradient.is_null() ? Value{} : x[next++]);
      optimizer->apply(values, variables);
      return Compiled::Outcome{};
    });
    step.run(given);
    ++done;
    for (const json& expect : list_in(test.at("expect"), "checkpoints"))
      if (expect.at("after_steps") == done)
        if (const std::string text = difference_from(expect, looked_at(expect, *optimizer, variables)); !text.empty())
          return "after step " + std::to_string(done) + ": " + text;
  }
  return {};
}

std::string run_optimizer_clip(const json& test) {
  const OptimizerPtr optimizer = make<Optimizer>(test.at("target"), test.at("config"));
  std::vector<Tensor> gradients;
  for (const json& gradient : list_in(test.at("inputs"), "grads")) gradients.push_back(tensor_of(gradient));
  json expect = test.at("expect");
  const std::size_t which = expect.at("index").at(0);
  expect.erase("index");
  return difference_from(expect, compute(gradients, [&](std::span<const Value> given) {
                           return optimizer->clip_gradients({given.begin(), given.end()}).at(which);
                         }));
}

std::string run_optimizer_loss_scale(const json& test) {
  json config = test.at("config");
  config["inner_optimizer"] = config.at("inner");
  config.erase("inner");
  const OptimizerPtr optimizer = make<Optimizer>(test.at("target"), config);
  const std::vector<Variable> variables = variables_of(list_in(test.at("inputs"), "variables"));
  if (!optimizer->loss_scale() || variables.size() != 1) throw Missing("such an optimizer of a scaled loss");
  const json& expect = test.at("expect");
  std::vector<std::int64_t> iterations;
  double scaled_one = 0;
  for (const json& gradients : list_in(test.at("inputs"), "grads_per_step")) {
    const bool scaled = gradients.at(0).is_object();
    const Tensor gradient = tensor_of(scaled ? gradients.at(0).at("scaled_by_initial_scale") : gradients.at(0));
    const auto one_of = [&](Graph& graph) { return optimizer->scale_loss(graph.constant(1, DType::float32)); };
    Compiled step(std::vector{gradient}, [&](Graph& graph, std::span<const Value> x) {
      one_of(graph);
      optimizer->apply({scaled ? x[0] * optimizer->loss_scale()->initial_scale() : x[0]}, variables);
      return Compiled::Outcome{};
    });
    step.run({gradient});
    iterations.push_back(optimizer->iterations());
    scaled_one = compute({}, [&](std::span<const Value>) { return one_of(Graph::current()); }).item();
  }
  if (expect.contains("iterations_after_each_step") && expect.at("iterations_after_each_step") != iterations)
    return "iterations: " + json(iterations).dump();
  if (expect.contains("scale_loss_of_1") && expect.at("scale_loss_of_1") != scaled_one)
    return "a loss of 1 becomes " + std::to_string(scaled_one);
  if (!expect.contains("variable")) return {};
  json value = expect;
  value["value"] = expect.at("variable");
  value.erase("variable");
  return difference_from(value, variables[0].value());
}

/// The rate in a trace and on the host.
std::string run_schedule(const json& test) {
  const LearningRateSchedulePtr schedule = make<LearningRateSchedule>(test.at("target"), test.at("config"));
  const double step = test.at("inputs").at("step");
  const Tensor traced = compute({tensor_of(step)}, [&](std::span<const Value> given) { return (*schedule)(given[0]); });
  const std::string text = difference_from(test.at("expect"), traced);
  if (!text.empty()) return text;
  return difference_from(test.at("expect"),
                         testing::tensor_of({}, DType::float64, {schedule->at(static_cast<std::int64_t>(step))}));
}

std::string run_initializer(const json& test) {
  const InitializerPtr initializer = make<Initializer>(test.at("target"), test.at("config"));
  return difference_from(test.at("expect"), (*initializer)(shape_in(test.at("inputs").at("shape")), floatx()));
}

std::string run_regularizer(const json& test) {
  const RegularizerPtr regularizer = make<Regularizer>(test.at("target"), test.at("config"));
  return difference_from(test.at("expect"), compute({tensor_of(test.at("inputs").at("x"))},
                                                    [&](std::span<const Value> x) { return (*regularizer)(x[0]); }));
}

std::string run_constraint(const json& test) {
  const ConstraintPtr constraint = make<Constraint>(test.at("target"), test.at("config"));
  return difference_from(test.at("expect"), compute({tensor_of(test.at("inputs").at("x"))},
                                                    [&](std::span<const Value> x) { return (*constraint)(x[0]); }));
}

}  // namespace etude::conformance
