#include "etude/training/detail/prediction_sink.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {

/// Refers to its sink until the sink is destroyed.
class PredictionSink::Source : public LogSource {
 public:
  explicit Source(const PredictionSink& sink) : sink_(&sink) {}
  std::uint64_t generation() const override { return generation_; }
  double read(std::size_t) override { return 0; }
  std::vector<Tensor> outputs() const override { return sink_->outputs(); }
  void next() { ++generation_; }

 private:
  const PredictionSink* sink_;
  std::uint64_t generation_ = 1;
};

PredictionSink::PredictionSink() : source_(std::make_shared<Source>(*this)) {}
PredictionSink::~PredictionSink() { source_->next(); }

Logs& PredictionSink::logs() {
  logs_.attach_outputs(source_);
  return logs_;
}

PendingPtr PredictionSink::hand_over() {
  source_->next();
  return handed_over();
}

void ConcatenatedPredictions::receive(const StepFunction& function) {
  if (outputs_.empty()) outputs_.assign(function.output_count(), {rows_});
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].add(function, i);
}

std::vector<Tensor> ConcatenatedPredictions::concatenated() const {
  std::vector<Tensor> result;
  for (const Output& output : outputs_)
    result.push_back(output.filled < output.tensor.shape()[0] ? output.tensor.rows(0, output.filled).clone()
                                                              : output.tensor);
  return result;
}

std::vector<Tensor> ConcatenatedPredictions::outputs() const {
  std::vector<Tensor> result;
  for (const Output& output : outputs_) result.push_back(output.tensor.rows(output.begin, output.filled).clone());
  return result;
}

PendingPtr ConcatenatedPredictions::handed_over() {
  for (Output& output : outputs_) output.begin = output.filled;
  return nullptr;
}

void ConcatenatedPredictions::Output::add(const StepFunction& function, std::size_t index) {
  Shape shape = function.output_shape(index);
  check(shape.rank() > 0, ErrorKind::shape, "predict",
        "a scalar output - expected [batch, ..] - return one row for each sample.");
  check(filled == 0 || shape.slice(1, shape.rank()) == tensor.shape().slice(1, tensor.shape().rank()), ErrorKind::shape,
        "predict", "outputs of shape ", shape, " after ", tensor.shape(),
        " - expected the same shape except for rows - predict batches of one shape at a time.");
  const std::int64_t first = filled;
  filled += shape[0];
  if (first == 0 || filled > tensor.shape()[0]) grow(shape, function.output_dtype(index));
  function.read_output(index, tensor.rows(first, filled).raw());
}

void ConcatenatedPredictions::Output::grow(Shape shape, DType dtype) {
  rows = std::max(filled, tensor ? 2 * rows : rows);
  shape[0] = rows;
  const Tensor before = std::exchange(tensor, Tensor(shape, dtype));
  if (before) std::memcpy(tensor.raw(), before.raw(), before.bytes());
}

}  // namespace etude
