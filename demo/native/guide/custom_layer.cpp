// Customizing models: a custom layer, loss and callback.
#include <etude/etude.hpp>

#include "samples.hpp"

using namespace etude;

/// x times a number for each feature: [.., n] -> [.., n].
class Gain : public Layer {
 public:
  Gain() : Layer("Gain") {}
  void build(const Shape& input_shape) override {
    gain_ = add_weight({.name = "gain", .shape = {input_shape[-1]}, .initializer = "ones"});
  }
  Value call(Value x, bool) override { return x * value_of(gain_); }

 private:
  Variable gain_;
};

/// Errors to the power of 1.5: one number for each sample, [batch].
Value between_mae_and_mse(Value y_true, Value y_pred) {
  const Value error = ops::absolute(y_true - y_pred);
  return ops::mean(error * ops::sqrt(error + 1e-7), {-1});
}

/// Stops training at a loss below 0.03.
class GoodEnough : public Callback {
 public:
  void on_epoch_end(int epoch, Logs& logs) override {
    if (logs["loss"] >= 0.03) return;
    std::printf("epoch %d is good enough\n", epoch + 1);
    model().stop_training = true;
  }
};

int main() {
  const auto [x, y] = guide::samples(1000);
  set_random_seed(8);
  Sequential model(
      {layers::dense({.units = 32, .activation = "relu"}), std::make_shared<Gain>(), layers::dense({.units = 1})});
  model.compile(
      {.optimizer = "adam", .loss = losses::from_function(between_mae_and_mse, "between"), .check_trace = true});
  guide::report("own layer",
                *model.fit(x, y, {.epochs = 20, .verbose = 2, .callbacks = {std::make_shared<GoodEnough>()}}));
  std::printf("parameters: count=%lld\n", static_cast<long long>(model.count_params()));
}
