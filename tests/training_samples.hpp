#pragma once

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "etude/etude.hpp"
#include "etude/training/detail/step_function.hpp"

/// Small data, small models, and a callback that records its hooks.
namespace etude::samples {

using Texts = std::vector<std::string>;

/// Numbers between -1 and 1 that look random and need no generator.
inline Tensor waves(const Shape& shape, double phase = 0) {
  Tensor tensor(shape);
  double at = phase;
  for (float& element : tensor.data<float>()) element = static_cast<float>(std::sin(at += 1.7));
  return tensor;
}

inline Tensor filled(const Shape& shape, float value) {
  Tensor tensor(shape);
  for (float& element : tensor.data<float>()) element = value;
  return tensor;
}

/// [rows, 1] with 0 or 1: whether the row's sum is positive.
inline Tensor signs_of(const Tensor& x) {
  Tensor y({x.shape()[0], 1});
  const std::int64_t columns = x.size() / x.shape()[0];
  for (std::int64_t row = 0; row < x.shape()[0]; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) sum += x.at(row * columns + i);
    y.data<float>()[static_cast<std::size_t>(row)] = sum > 0;
  }
  return y;
}

/// x -> tanh(x) -> one unit: with the same initial values each time.
inline std::vector<LayerPtr> two_dense(std::int64_t units = 4, std::int64_t outputs = 1) {
  return {layers::dense(
              {.units = units, .activation = "tanh", .kernel_initializer = initializers::glorot_uniform({.seed = 1})}),
          layers::dense({.units = outputs, .kernel_initializer = initializers::glorot_uniform({.seed = 2})})};
}

inline CompileOptions mse(double learning_rate = 0.1) {
  return {.optimizer = optimizers::sgd({.learning_rate = learning_rate}), .loss = "mse"};
}

/// One unit without bias whose kernel is all ones: y = sum of x.
inline std::vector<LayerPtr> summing_unit() {
  return {layers::dense({.units = 1, .use_bias = false, .kernel_initializer = "ones"})};
}

inline std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < tensor.size(); ++i) result.push_back(tensor.at(i));
  return result;
}

/// All weights, concatenated.
inline std::vector<double> weights_of(const Layer& layer) {
  std::vector<double> result;
  for (const Tensor& weight : layer.get_weights())
    for (double number : numbers(weight)) result.push_back(number);
  return result;
}

inline std::string keys(const Logs& logs) {
  std::string text;
  for (std::size_t i = 0; i < logs.size(); ++i) text += (i ? "," : "") + logs.name(i);
  return text;
}

/// Records every hook, with its index and the names in its logs: "epoch_end 0: loss,val_loss".
class Recorder : public Callback {
 public:
  Texts events;

  void on_train_begin(Logs& logs) override { note("train_begin", logs); }
  void on_train_end(Logs& logs) override { note("train_end", logs); }
  void on_epoch_begin(int epoch, Logs& logs) override { note("epoch_begin", epoch, logs); }
  void on_epoch_end(int epoch, Logs& logs) override { note("epoch_end", epoch, logs); }
  void on_train_batch_begin(std::int64_t step, Logs& logs) override { note("batch_begin", step, logs); }
  void on_train_batch_end(std::int64_t step, Logs& logs) override { note("batch_end", step, logs); }
  void on_test_begin(Logs& logs) override { note("test_begin", logs); }
  void on_test_end(Logs& logs) override { note("test_end", logs); }
  void on_test_batch_begin(std::int64_t step, Logs& logs) override { note("test_batch_begin", step, logs); }
  void on_test_batch_end(std::int64_t step, Logs& logs) override { note("test_batch_end", step, logs); }
  void on_predict_begin(Logs& logs) override { note("predict_begin", logs); }
  void on_predict_end(Logs& logs) override { note("predict_end", logs); }
  void on_predict_batch_begin(std::int64_t step, Logs& logs) override { note("predict_batch_begin", step, logs); }
  void on_predict_batch_end(std::int64_t step, Logs& logs) override { note("predict_batch_end", step, logs); }

  /// The records that begin with `start`.
  Texts starting_with(const std::string& start) const {
    Texts found;
    for (const std::string& event : events)
      if (event.starts_with(start)) found.push_back(event);
    return found;
  }

 private:
  void note(std::string hook, const Logs& logs) { events.push_back(hook + (logs.empty() ? "" : ": " + keys(logs))); }
  void note(const std::string& hook, std::int64_t index, const Logs& logs) {
    note(hook + ' ' + std::to_string(index), logs);
  }
};

/// The batches of arrays in sequence, each once.
inline Generator batches_of(const Tensor& x, const Tensor& y, std::int64_t batch_size, std::int64_t count) {
  return [=, next = std::int64_t{0}]() mutable -> std::optional<Batch> {
    if (next == count) return {};
    const std::int64_t rows = x.shape()[0], begin = next++ * batch_size % rows,
                       end = std::min(begin + batch_size, rows);
    return Batch{{x.rows(begin, end)}, {y.rows(begin, end)}, {}};
  };
}

/// `count` batches of x, and then an exception.
inline Generator breaking_after(int batches, const Tensor& x) {
  return [batches, x, at = 0]() mutable -> std::optional<Batch> {
    if (at++ == batches) throw std::runtime_error("the source is dry");
    return Batch{{x}, {}, {}};
  };
}

/// x [3] -> one number, and two.
inline Functional one_and_two() {
  const SymbolicTensor in = layers::input({.shape = {3}});
  return Functional({in}, {layers::dense({.units = 1})->apply(in), layers::dense({.units = 2})->apply(in)});
}

/// The text of the Error that `action` throws; empty without one.
template <class Action> std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace etude::samples
