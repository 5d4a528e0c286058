#include "coordinator/model_steps.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "etude/training/detail/step_function.hpp"

namespace etude::coordinator {

std::vector<std::pair<std::string, Variable>> named_variables(const Model& model) {
  std::vector<std::pair<std::string, Variable>> result;
  std::set<std::string> taken;
  for (const Variable& variable : model.variables()) {
    std::string name = variable.name();
    for (int number = 1; !taken.insert(name).second; ++number) name = variable.name() + '_' + std::to_string(number);
    result.emplace_back(std::move(name), variable);
  }
  return result;
}

std::vector<Variable> metric_variables(const Model& model) {
  std::vector<Variable> result;
  for (const MetricPtr& metric : model.metrics())
    for (const Variable& variable : metric->variables()) result.push_back(variable);
  return result;
}

std::vector<Tensor> ModelSteps::train(WorkerContext& worker, const std::vector<Tensor>& arguments) {
  return run(worker, *model_.make_train_function(), arguments, Purpose::training);
}

std::vector<Tensor> ModelSteps::test(WorkerContext& worker, const std::vector<Tensor>& arguments) {
  return run(worker, *model_.make_test_function(), arguments, Purpose::evaluation);
}

std::vector<Tensor> ModelSteps::run(WorkerContext& worker, StepFunction& function, const std::vector<Tensor>& arguments,
                                    Purpose purpose) {
  const auto steps = static_cast<std::int64_t>(arguments.at(0).item());
  const auto loop = static_cast<std::int64_t>(arguments.at(1).item());
  std::vector<Tensor> results;
  for (std::int64_t step = 0; step < steps; ++step) {
    Batch batch = worker.next();
    cast_to_floatx(batch);
    function.prepare(batch);  // the first trace makes the variables
    model_.reset_metrics();
    const bool trains = purpose == Purpose::training;
    if (trains || loop != loop_) pull(worker.variables());
    loop_ = trains ? -1 : loop;
    function.upload(batch, purpose);
    function.finish();
    if (trains) push(worker.variables(), function);
    for (const Variable& variable : metric_variables(model_)) results.push_back(variable.value());
  }
  return results;
}

void ModelSteps::pull(ServerVariables& servers) {
  variables_ = named_variables(model_);
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables_) names.push_back(name);
  pulled_ = servers.pull(names);
  for (auto& [name, variable] : variables_) variable.assign(pulled_.at(name));
}

void ModelSteps::push(ServerVariables& servers, const StepFunction& function) const {
  NamedTensors gradients, changed;
  for (const auto& [name, variable] : variables_) {
    const auto place = std::ranges::find(given_, variable);
    const Tensor now = variable.value(), &before = pulled_.at(name);
    const bool same = std::memcmp(now.raw(), before.raw(), now.bytes()) == 0;
    if (place == given_.end()) {
      if (!same) changed[name] = now;
      continue;
    }
    check(same, ErrorKind::value, "ParameterServerStrategy", "a step that assigns \"", name,
          "\" and also returns its gradient - expected only one of them - let only the optimizer update it.");
    const auto index = static_cast<std::size_t>(place - given_.begin());
    Tensor gradient = Tensor::uninitialized(function.output_shape(index), function.output_dtype(index));
    function.read_output(index, gradient.raw());
    gradients[name] = std::move(gradient);
  }
  if (!gradients.empty()) servers.push(gradients);
  if (!changed.empty()) servers.assign(changed);
}

}  // namespace etude::coordinator
