#include "etude/losses/detail/comparison.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude::losses {
namespace {

bool fits(const Shape& target, const Shape& prediction) {
  if (target.rank() != prediction.rank()) return false;
  for (std::size_t i = 0; i < target.rank(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i);
    if (target[axis] != prediction[axis] && (axis == 0 || target[axis] != 1)) return false;
  }
  return true;
}

}  // namespace

Value in_shape_of(Value y_true, Value y_pred, const char* where, Targets targets) {
  const bool equal = y_true.shape() == y_pred.shape();
  check(equal || (targets == Targets::broadcast && fits(y_true.shape(), y_pred.shape())), ErrorKind::shape, where,
        "y_true of shape ", y_true.shape(), " and y_pred of shape ", y_pred.shape(),
        " - expected equal shapes - check the targets and the last layer's units.");
  return ops::broadcast_to(ops::cast(y_true, y_pred.dtype()), y_pred.shape());
}

void check_smoothing(const std::string& name, double smoothing) {
  check(smoothing >= 0 && smoothing <= 1, ErrorKind::value, name, "label_smoothing = ", smoothing,
        " - expected a number from 0 to 1 - set label_smoothing.");
}

Value labels_of(const char* where, Value y_true, Value y_pred, std::optional<std::int64_t> ignored) {
  const Shape expected = y_pred.shape().without(-1);
  Value t = y_true;
  if (t.shape() != expected && t.shape().rank() == expected.rank() + 1 && t.shape()[-1] == 1) t = ops::squeeze(t, -1);
  check(t.shape() == expected, ErrorKind::shape, where, "y_true of shape ", y_true.shape(), " and y_pred of shape ",
        y_pred.shape(), " - expected integer targets of shape ", expected,
        " - use \"categorical_crossentropy\" for one-hot targets.");
  const Value mask = y_pred.mask();
  t.graph().expect({t.id(), y_pred.shape()[-1], where, "label", "classes",
                    "check the labels, or increase the last layer's units", ignored, mask ? mask.id() : -1});
  return ops::cast(t, DType::int32);
}

Value with_last(Value x, std::ptrdiff_t axis) {
  const std::size_t rank = x.shape().rank(), moved = x.shape().axis(axis, "Loss");
  if (moved + 1 == rank) return x;
  std::vector<std::uint8_t> order;
  for (std::size_t i = 0; i < rank; ++i)
    if (i != moved) order.push_back(static_cast<std::uint8_t>(i));
  order.push_back(static_cast<std::uint8_t>(moved));
  return ops::transpose(x, order);
}

}  // namespace etude::losses
