#pragma once

#include <span>

#include "etude/graph/detail/node.hpp"
#include "op_cases.hpp"

/// What the table of op_cases.hpp is made of: an entry for every op. Without one the tests do not link.
namespace etude::testing {

using Numbers = Argument::Numbers;
using Values = std::span<const Value>;

inline Function front(Value (*f)(Value)) {
  return [f](Values x) { return f(x[0]); };
}
inline Function front(Value (*f)(Value, Value)) {
  return [f](Values x) { return f(x[0], x[1]); };
}
inline Function front(Value (*f)(Value, Value, Value)) {
  return [f](Values x) { return f(x[0], x[1], x[2]); };
}

inline Argument number(const Shape& shape) { return {shape, Numbers::between, -2, 2}; }
inline Argument spaced(const Shape& shape) { return {shape, Numbers::apart}; }
inline Argument labels(const Shape& shape, double depth) { return {shape, Numbers::between, 0, depth, DType::int32}; }

/// The entry of an op. Each op has a specialization; those of elementwise ops are one function.
template <class O> OpEntry entry(const O&);
OpEntry elementwise_entry(const Op& op);
template <op::ElementwiseOp F> OpEntry entry(const F& op) { return elementwise_entry(op); }

}  // namespace etude::testing
