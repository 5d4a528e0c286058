#include "etude/layers/preprocessing_boxes.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

MaxNumBoundingBoxes::MaxNumBoundingBoxes(MaxNumBoundingBoxesOptions options)
    : Layer(class_entry<MaxNumBoundingBoxes>, std::move(options)),
      options_(described_options<MaxNumBoundingBoxesOptions>()) {
  static_cast<void>(is_channels_first(options_.data_format, where()));
  check(options_.max_number > 0, ErrorKind::value, where(), "max_number = ", options_.max_number,
        " - expected a positive number - set max_number.");
}

Value MaxNumBoundingBoxes::resized(Value x) const {
  const bool fits = size_of(x.dtype()) > 1 || (options_.fill_value >= 0 && options_.fill_value < 256);
  check(fits, ErrorKind::value, where(), "fill_value = ", options_.fill_value, " for numbers of dtype ", x.dtype(),
        " - expected a number of that dtype - set fill_value, or cast the numbers.");
  const std::int64_t given = x.shape()[1], kept = std::min(given, options_.max_number);
  const Value first = ops::slice(x, 1, 0, kept);
  if (kept == options_.max_number) return first;
  Shape rest = x.shape();
  rest[1] = options_.max_number - kept;
  return ops::concatenate({first, ops::full(rest, static_cast<double>(options_.fill_value), x.dtype())}, 1);
}

Value MaxNumBoundingBoxes::call(Value boxes, bool) {
  check(boxes.shape().rank() == 3 && boxes.shape()[2] == 4, ErrorKind::shape, where(), "boxes of shape ", boxes.shape(),
        " - expected [batch, boxes, 4] - check the data.");
  return resized(boxes);
}

Outputs MaxNumBoundingBoxes::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() == 1 || inputs.size() == 2, ErrorKind::value, where(), "called on ", inputs.size(),
        " inputs - expected boxes, or boxes and labels - pass them as a list of two.");
  const Value boxes = call(inputs[0], training);
  if (inputs.size() == 1) return boxes;
  check(inputs[1].shape() == inputs[0].shape().slice(0, 2), ErrorKind::shape, where(), "labels of shape ",
        inputs[1].shape(), " for boxes of shape ", inputs[0].shape(),
        " - expected [batch, boxes] - pass one label "
        "for each box.");
  return std::vector{boxes, resized(inputs[1])};
}

}  // namespace etude
