#pragma once

#include <cstdint>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/base/tensor.hpp"
#include "etude/training/step_function.hpp"

namespace etude {

/// Where predict's outputs go.
class PredictionSink {
 public:
  PredictionSink();
  virtual ~PredictionSink();
  PredictionSink(const PredictionSink&) = delete;
  PredictionSink& operator=(const PredictionSink&) = delete;
  /// A step has run; its outputs are there until the next one runs.
  virtual void take(const StepFunction& function) = 0;
  /// A copy of what was taken since the last hand_over: of each output all rows.
  virtual std::vector<Tensor> outputs() const = 0;
  /// The logs of on_predict_batch_end. They give outputs() until hand_over, to callbacks that read them.
  Logs& logs();
  /// An execution is over, its hooks too. What this gives, the loop waits for.
  PendingPtr hand_over();
  /// Whether no more is wanted: no step follows.
  virtual bool closed() const { return false; }

 private:
  class Source;
  /// hand_over() of the subclass.
  virtual PendingPtr handed_over() = 0;

  std::shared_ptr<Source> source_;
  Logs logs_;
};

/// Joins the batches of each output along axis 0, in a tensor that grows, or that has room for all `rows` from the
/// start.
class JoinedPredictions : public PredictionSink {
 public:
  explicit JoinedPredictions(std::int64_t rows) : rows_(rows) {}

  /// Throws Error(shape) for a scalar, and for rows that are not of the first ones' shape.
  void take(const StepFunction& function) override;
  std::vector<Tensor> outputs() const override;
  /// All rows of each output.
  std::vector<Tensor> joined() const;

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
