// Customizing fit, 1: a custom step. It replaces the computation for one batch; fit still runs the loop, callbacks,
// data and progress bar. The first model uses the options of compile(); the second computes its loss and metrics
// itself.
#include <etude/etude.hpp>

#include "samples.hpp"

using namespace etude;

class CustomModel : public Sequential {
 public:
  using Sequential::Sequential;

  StepLogs train_step(const StepData& data) override {
    const Value y_pred = (*this)(data.x[0], true);
    const Value loss = compute_loss(data, y_pred);
    optimizer().apply(gradients(loss, trainable_variables()), trainable_variables());
    return compute_metrics(data, y_pred, loss);
  }
};

class LowerLevel : public Sequential {
 public:
  using Sequential::Sequential;

  // These metrics are reset in each epoch, and in each evaluate().
  std::vector<MetricPtr> metrics() const override { return {loss_, error_}; }

  StepLogs train_step(const StepData& data) override {
    const Value y_pred = (*this)(data.x[0], true);
    const Value loss = ops::mean(ops::square(data.y[0] - y_pred));
    optimizer().apply(gradients(loss, trainable_variables()), trainable_variables());
    loss_->update(loss);
    error_->update(ops::absolute(data.y[0] - y_pred));
    return {{"loss", loss_->result()}, {"mae", error_->result()}};
  }

 private:
  std::shared_ptr<Mean> loss_ = metrics::mean({.name = "loss"}), error_ = metrics::mean({.name = "mae"});
};

int main() {
  const auto [x, y] = guide::samples(1000);
  set_random_seed(1);
  CustomModel custom({layers::dense({.units = 32, .activation = "relu"}), layers::dense({.units = 1})});
  custom.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .check_trace = true});
  guide::report("default loss", *custom.fit(x, y, {.epochs = 3, .verbose = 2}));

  set_random_seed(1);
  LowerLevel lower({layers::dense({.units = 32, .activation = "relu"}), layers::dense({.units = 1})});
  lower.compile({.optimizer = "adam", .check_trace = true});
  guide::report("own loss", *lower.fit(x, y, {.epochs = 3, .verbose = 2}));
}
