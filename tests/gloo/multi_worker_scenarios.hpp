#pragma once

#include <cmath>
#include <cstring>
#include <etude/etude.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "processes.hpp"

/// Models that processes train together, and the numbers that result.
namespace etude::testing {

inline constexpr std::int64_t rows = 25, batch_size = 8;  // the last batch has one row, fewer than processes

inline Tensor waves(const Shape& shape) {
  Tensor tensor(shape);
  float at = 0;
  for (float& element : tensor.data<float>()) element = std::sin(at += 0.7f);
  return tensor;
}

/// Adds a number for the bits of all variables after each step.
class Bits : public Callback {
 public:
  std::vector<float> after_steps;
  void on_train_batch_end(std::int64_t, Logs&) override {
    std::uint32_t hash = 2166136261;
    for (const Variable& variable : model().variables()) {
      const Tensor value = variable.value();
      for (std::size_t i = 0; i < value.bytes(); ++i)
        hash = (hash ^ static_cast<std::uint8_t>(value.raw()[i])) * 16777619;
    }
    after_steps.push_back(static_cast<float>(hash >> 8));  // exact in a float
  }
};

struct Scenario {
  const char* name;
  std::function<std::vector<LayerPtr>()> layers;
  const char* optimizer;
  bool weighted;
};

inline const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{
      {"SGD",
       [] {
         return std::vector<LayerPtr>{layers::dense({.units = 8, .activation = "tanh"}), layers::dense({.units = 1})};
       },
       "sgd", false},
      {"Adam, dropout, regularizers and sample weights",
       [] {
         return std::vector<LayerPtr>{layers::dense({.units = 8, .kernel_regularizer = "l2"}),
                                      layers::layer_normalization(), layers::dropout({.rate = 0.3}),
                                      layers::dense({.units = 1})};
       },
       "adam", true},
      {"batches that are normalized as one",
       [] {
         return std::vector<LayerPtr>{layers::dense({.units = 8}), layers::batch_normalization({.synchronized = true}),
                                      layers::activation("relu"), layers::dense({.units = 1})};
       },
       "sgd", false}};
  return all;
}

/// Trains, evaluates and predicts. The weights, losses, metrics and predictions, and a number for the bits after each
/// step, which are the last `steps` numbers.
inline std::vector<float> numbers_of(const Scenario& scenario, std::int64_t steps_per_execution = 1) {
  Sequential model(scenario.layers());
  model.compile(
      {.optimizer = scenario.optimizer, .loss = "mse", .metrics = {"mae"}, .steps_per_execution = steps_per_execution});
  const Tensor x = waves({rows, 5}), y = waves({rows, 1}).clone();
  Tensor weights({rows});
  for (std::size_t i = 0; i < rows; ++i) weights.data<float>()[i] = static_cast<float>(1 + i % 3);
  const auto bits = std::make_shared<Bits>();
  FitOptions options{.batch_size = batch_size, .epochs = 3, .verbose = 0, .callbacks = {bits}};
  const HistoryPtr history = scenario.weighted ? model.fit(x, y, weights, options) : model.fit(x, y, options);
  const Logs logs = model.evaluate(x, y, {.batch_size = batch_size, .verbose = 0});
  const Tensor predicted = model.predict(x, {.batch_size = batch_size, .verbose = 0});
  std::vector<float> all;
  const auto add = [&](const Tensor& tensor) {
    const auto data = tensor.data<float>();
    all.insert(all.end(), data.begin(), data.end());
  };
  for (const Tensor& weight : model.get_weights()) add(weight);
  add(predicted);
  for (const double loss : (*history)["loss"]) all.push_back(static_cast<float>(loss));
  for (const char* name : {"loss", "mae"}) all.push_back(static_cast<float>(logs[name]));
  all.insert(all.end(), bits->after_steps.begin(), bits->after_steps.end());
  return all;
}

inline std::string report_of(const std::vector<float>& numbers) { return bytes_of(numbers.data(), 4 * numbers.size()); }
inline std::vector<float> numbers_in(const std::string& report) {
  std::vector<float> numbers(report.size() / 4);
  std::memcpy(numbers.data(), report.data(), 4 * numbers.size());
  return numbers;
}

}  // namespace etude::testing
