#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "etude/data/data_handler.hpp"
#include "etude/training/coordinator.hpp"
#include "etude/training/model.hpp"

/// The steps of a model, as functions of workers.
namespace etude::coordinator {

/// The model's variables, except those of the optimizer and of metrics, each by a different name. The names are equal
/// in all processes.
std::vector<std::pair<std::string, Variable>> named_variables(const Model& model);
/// The variables of its metrics.
std::vector<Variable> metric_variables(const Model& model);

/// Computes steps of a model in a worker. Its functions get the number of steps and that of the loop, and return for
/// each step the variables of the metrics, which begin at zero. So the chief can add them in the order of one process.
class ModelSteps {
 public:
  /// `given`: where train steps list the variables whose gradients are their outputs.
  ModelSteps(Model& model, const std::vector<Variable>& given) : model_(model), given_(given) {}

  /// Each step pulls the variables, pushes gradients, and assigns other variables that it has changed.
  std::vector<Tensor> train(WorkerContext& worker, const std::vector<Tensor>& arguments);
  /// The variables are pulled once for each loop.
  std::vector<Tensor> test(WorkerContext& worker, const std::vector<Tensor>& arguments);

 private:
  std::vector<Tensor> run(WorkerContext& worker, StepFunction& function, const std::vector<Tensor>& arguments,
                          Purpose purpose);
  void pull(ServerVariables& servers);
  void push(ServerVariables& servers, const StepFunction& function) const;

  Model& model_;
  const std::vector<Variable>& given_;
  std::vector<std::pair<std::string, Variable>> variables_;
  NamedTensors pulled_;
  std::int64_t loop_ = -1;  ///< for which they were pulled
};

}  // namespace etude::coordinator
