#include "etude/training/prediction_sink.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {

void JoinedPredictions::take(const StepFunction& function) {
  if (outputs_.empty()) outputs_.assign(function.output_count(), {rows_});
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].add(function, i);
}

std::vector<Tensor> JoinedPredictions::joined() const {
  std::vector<Tensor> result;
  for (const auto& [rows, filled, tensor] : outputs_)
    result.push_back(filled < tensor.shape()[0] ? tensor.rows(0, filled).clone() : tensor);
  return result;
}

void JoinedPredictions::Output::add(const StepFunction& function, std::size_t index) {
  Shape shape = function.output_shape(index);
  check(shape.rank() > 0, ErrorKind::shape, "predict",
        "a scalar output - expected [batch, ..] - return one row for each sample.");
  check(filled == 0 || shape.slice(1, shape.rank()) == tensor.shape().slice(1, tensor.shape().rank()), ErrorKind::shape,
        "predict", "outputs of shape ", shape, " after ", tensor.shape(),
        " - expected the same shape but for the rows - predict batches of one shape at a time.");
  const std::int64_t begin = filled;
  filled += shape[0];
  if (begin == 0 || filled > tensor.shape()[0]) grow(shape, function.output_dtype(index));
  function.read_output(index, tensor.rows(begin, filled).raw());
}

void JoinedPredictions::Output::grow(Shape shape, DType dtype) {
  rows = std::max(filled, tensor ? 2 * rows : rows);
  shape[0] = rows;
  const Tensor before = std::exchange(tensor, Tensor(shape, dtype));
  if (before) std::memcpy(tensor.raw(), before.raw(), before.bytes());
}

}  // namespace etude
