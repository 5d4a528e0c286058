#pragma once

#include <cstdint>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/base/tensor.hpp"
#include "etude/training/detail/step_function.hpp"

namespace etude {

/// Receives predict's outputs.
class PredictionSink {
 public:
  PredictionSink();
  virtual ~PredictionSink();
  PredictionSink(const PredictionSink&) = delete;
  PredictionSink& operator=(const PredictionSink&) = delete;
  /// Called after a step. Its outputs are valid until the next step.
  virtual void receive(const StepFunction& function) = 0;
  /// A copy of the outputs since the last hand_over: all rows of each output.
  virtual std::vector<Tensor> outputs() const = 0;
  /// The logs of on_predict_batch_end. Callbacks can read outputs() from them until hand_over.
  Logs& logs();
  /// Called after an execution and its hooks. The loop awaits the result.
  PendingPtr hand_over();
  /// Whether the loop should stop before the next step.
  virtual bool closed() const { return false; }

 private:
  class Source;
  /// hand_over() of the subclass.
  virtual PendingPtr handed_over() = 0;

  std::shared_ptr<Source> source_;
  Logs logs_;
};

/// Concatenates the batches of each output along axis 0, in a tensor that grows, or that is allocated for all `rows` at
/// once.
class ConcatenatedPredictions : public PredictionSink {
 public:
  explicit ConcatenatedPredictions(std::int64_t rows) : rows_(rows) {}

  /// Throws Error(shape) for a scalar, and for rows whose shape differs from the first.
  void receive(const StepFunction& function) override;
  std::vector<Tensor> outputs() const override;
  /// All rows of each output.
  std::vector<Tensor> concatenated() const;

 private:
  struct Output {
    std::int64_t rows, filled = 0;
    /// The first row of this execution.
    std::int64_t begin = 0;
    Tensor tensor = {};

    void add(const StepFunction& function, std::size_t index);
    void grow(Shape shape, DType dtype);
  };

  PendingPtr handed_over() override;

  std::int64_t rows_;
  std::vector<Output> outputs_;
};

}  // namespace etude
