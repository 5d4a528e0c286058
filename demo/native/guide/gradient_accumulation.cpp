// Customizing fit, 4: gradients accumulated over several batches, and applied once. Optimizers have the
// option gradient_accumulation_steps for this; here it shows state in a step: variables, and selection without
// branches.
#include <etude/etude.hpp>

#include "samples.hpp"

using namespace etude;

class Accumulating : public Sequential {
 public:
  Accumulating(std::vector<LayerPtr> layers, int steps) : Sequential(std::move(layers)), steps_(steps) {}

  StepLogs train_step(const StepData& data) override {
    Graph& graph = Graph::current();
    const Value y_pred = (*this)(data.x[0], true);
    const Value loss = compute_loss(data, y_pred);
    const std::vector<Variable> variables = trainable_variables();
    const std::vector<Value> fresh = gradients(loss, variables);
    if (sums_.empty())
      for (const Variable& variable : variables)
        sums_.emplace_back(variable.name() + "/sum", Tensor(variable.shape()), false);

    const Value seen = graph.read(seen_) + 1;
    const Value due = ops::equal(seen, ops::scalar(steps_, seen));
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Value sum = graph.read(sums_[i]) + fresh[i];
      const Value weight = graph.read(variables[i]);
      graph.assign(variables[i], ops::where(due, weight - sum * (rate / steps_), weight));
      graph.assign(sums_[i], ops::where(due, sum * 0.0, sum));
    }
    graph.assign(seen_, ops::where(due, seen * 0, seen));
    return compute_metrics(data, y_pred, loss);
  }

 private:
  static constexpr double rate = 0.1;
  int steps_;
  std::vector<Variable> sums_;
  Variable seen_{"seen", Tensor({}, DType::int32), false};
};

std::vector<LayerPtr> two_layers() {
  set_random_seed(4);
  return {layers::dense({.units = 32, .activation = "relu"}), layers::dense({.units = 1})};
}

int main() {
  const auto [x, y] = guide::samples(960);
  Accumulating own(two_layers(), 4);
  own.compile({.loss = "mse", .check_trace = true});
  guide::report("written out", *own.fit(x, y, {.epochs = 3, .verbose = 2, .shuffle = false}));

  Sequential built_in(two_layers());
  built_in.compile({.optimizer = optimizers::sgd({.learning_rate = 0.1, .gradient_accumulation_steps = 4}),
                    .loss = "mse",
                    .check_trace = true});
  guide::report("by the optimizer", *built_in.fit(x, y, {.epochs = 3, .verbose = 2, .shuffle = false}));
}
