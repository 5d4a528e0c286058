#include "etude/layers/shape_trace.hpp"

#include <utility>

namespace etude {
namespace {

thread_local auto current_pass = ShapeTrace::Pass::none;

}  // namespace

ShapeTrace::ShapeTrace(Pass pass) : outer_(std::exchange(current_pass, pass)) {}
ShapeTrace::~ShapeTrace() { current_pass = outer_; }
ShapeTrace::Pass ShapeTrace::pass() { return current_pass; }

void forget_differing(Shape& shape, const Shape& other) {
  if (shape.rank() != other.rank()) return void(shape = other);
  for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(shape.rank()); ++axis)
    if (shape[axis] != other[axis]) shape[axis] = -1;
}

}  // namespace etude
