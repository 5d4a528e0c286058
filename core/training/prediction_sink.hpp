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
  virtual ~PredictionSink() = default;
  /// A step has run; its outputs are there until the next one runs.
  virtual void take(const StepFunction& function) = 0;
  /// An execution is over, its hooks too. What this gives, the loop waits for.
  virtual PendingPtr hand_over() { return nullptr; }
  /// Whether nobody wants more: no step follows.
  virtual bool closed() const { return false; }
};

/// Joins the batches of each output along axis 0, in a tensor that grows, or that has room for all `rows` from the
/// start.
class JoinedPredictions : public PredictionSink {
 public:
  explicit JoinedPredictions(std::int64_t rows) : rows_(rows) {}

  /// Throws Error(shape) for a scalar, and for rows that are not of the first ones' shape.
  void take(const StepFunction& function) override;
  /// All rows of each output.
  std::vector<Tensor> joined() const;

 private:
  struct Output {
    std::int64_t rows, filled = 0;
    Tensor tensor = {};

    void add(const StepFunction& function, std::size_t index);
    void grow(Shape shape, DType dtype);
  };

  std::int64_t rows_;
  std::vector<Output> outputs_;
};

}  // namespace etude
