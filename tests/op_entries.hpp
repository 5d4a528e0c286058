#pragma once

#include <span>

#include "op_cases.hpp"

/// The entries of the table of op_cases.hpp, one for every op. An op without a declared entry does not compile, one
/// without a defined entry does not link.
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

/// The entry of an elementwise op.
OpEntry elementwise_entry(const Op& op);
template <op::ElementwiseOp F> OpEntry entry(const F& op) { return elementwise_entry(op); }

OpEntry entry(const op::Input&);
OpEntry entry(const op::Constant&);
OpEntry entry(const op::Read&);
OpEntry entry(const op::Cast&);
OpEntry entry(const op::StopGradient&);
OpEntry entry(const op::Broadcast&);
OpEntry entry(const op::Reshape&);
OpEntry entry(const op::Transpose&);
OpEntry entry(const op::Slice&);
OpEntry entry(const op::Reverse&);
OpEntry entry(const op::Concatenate&);
OpEntry entry(const op::Sum&);
OpEntry entry(const op::Max&);
OpEntry entry(const op::ArgMax&);
OpEntry entry(const op::OneHot&);
OpEntry entry(const op::Gather&);
OpEntry entry(const op::ScatterAdd&);
OpEntry entry(const op::MatMul&);
OpEntry entry(const op::Convolution&);
OpEntry entry(const op::ConvolutionInput&);
OpEntry entry(const op::ConvolutionFilter&);
OpEntry entry(const op::PoolArgMax&);
OpEntry entry(const op::PoolGather&);
OpEntry entry(const op::PoolScatter&);
OpEntry entry(const op::Softmax&);
OpEntry entry(const op::SoftmaxCrossentropy&);
OpEntry entry(const op::SparseSoftmaxCrossentropy&);
OpEntry entry(const op::Uniform&);
OpEntry entry(const op::Scan&);
OpEntry entry(const op::AllReduce&);

}  // namespace etude::testing
