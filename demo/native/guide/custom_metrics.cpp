// Customizing fit, 2: custom metrics. For a mean over the samples, a function of targets and predictions suffices; a
// class can have variables; a step may log further values.
#include <etude/etude.hpp>

#include "samples.hpp"

using namespace etude;

/// The fraction of predictions with an error below 0.1: a mean of zeros and ones.
Value within_a_tenth(Value y_true, Value y_pred) {
  const Value error = ops::absolute(y_true - y_pred);
  return ops::cast(ops::less(error, ops::scalar(0.1, error)), DType::float32);
}

/// The largest error of the epoch.
class LargestError : public Metric {
 public:
  LargestError() : Metric("largest_error"), largest_(add_variable("largest")) {}

  void update_state(Value y_true, Value y_pred, Value) override {
    Graph& graph = Graph::current();
    graph.assign(largest_, ops::maximum(graph.read(largest_), ops::max(ops::absolute(y_true - y_pred))));
  }
  Value result() const override { return Graph::current().read(largest_); }

 private:
  Variable largest_;
};

class Reporting : public Sequential {
 public:
  using Sequential::Sequential;

  Value compute_loss(const StepData& data, const Outputs& y_pred) override {
    add_metric(ops::mean(y_pred[0]), "mean_prediction");
    return Sequential::compute_loss(data, y_pred);
  }
};

int main() {
  const auto [x, y] = guide::samples(1000);
  set_random_seed(2);
  Reporting model({layers::dense({.units = 32, .activation = "relu"}), layers::dense({.units = 1})});
  model.compile(
      {.optimizer = "adam",
       .loss = "mse",
       .metrics = {metrics::from_function(within_a_tenth, "within_a_tenth"), std::make_shared<LargestError>()},
       .check_trace = true});
  guide::report("metrics", *model.fit(x, y, {.epochs = 3, .verbose = 2}));
}
