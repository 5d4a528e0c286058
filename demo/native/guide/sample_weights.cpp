// Customizing fit, 3: sample weights in a custom step. data.sample_weight holds the sample weights of fit, the class
// weights of the targets, or their product; it is empty without either.
#include <etude/etude.hpp>

#include "samples.hpp"

using namespace etude;

class Weighted : public Sequential {
 public:
  using Sequential::Sequential;
  std::vector<MetricPtr> metrics() const override { return {loss_}; }

  StepLogs train_step(const StepData& data) override {
    const Value y_pred = (*this)(data.x[0], true);
    Value errors = ops::mean(ops::square(data.y[0] - y_pred), {-1});
    if (!data.sample_weight.empty()) errors = errors * data.sample_weight[0];
    const Value loss = ops::mean(errors);
    optimizer().apply(gradients(loss, trainable_variables()), trainable_variables());
    loss_->update(loss);
    return {{"loss", loss_->result()}};
  }

 private:
  std::shared_ptr<Mean> loss_ = metrics::mean({.name = "loss"});
};

int main() {
  const auto [x, y] = guide::samples(1000);
  // Positive targets count three times.
  Tensor weights({1000});
  for (std::size_t row = 0; row < 1000; ++row)
    weights.data<float>()[row] = y.at(static_cast<std::int64_t>(row)) > 0 ? 3.0F : 1.0F;
  set_random_seed(3);
  Weighted model({layers::dense({.units = 32, .activation = "relu"}), layers::dense({.units = 1})});
  model.compile({.optimizer = "adam", .check_trace = true});
  guide::report("weighted", *model.fit(x, y, weights, {.epochs = 3, .verbose = 2}));
  guide::report("unweighted", *model.fit(x, y, {.epochs = 1, .verbose = 2}));
}
