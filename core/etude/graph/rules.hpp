#pragma once

#include <span>
#include <vector>

#include "etude/graph/graph.hpp"

/// The rules of every op. There is one overload per rule and op; a missing one is a compile or link error.
namespace etude {

/// The shape and dtype of a node.
struct Meta {
  Shape shape;
  DType dtype;
};

/// Shape rules: infer the result's shape and dtype from the operands', or throw Error(shape) or Error(dtype) that names
/// them.
Meta infer(const op::Input&, std::span<const Value>);
Meta infer(const op::Constant&, std::span<const Value>);
Meta infer(const op::Read&, std::span<const Value>);
Meta infer(const op::Cast&, std::span<const Value>);
Meta infer(const op::StopGradient&, std::span<const Value>);
Meta infer(const op::Broadcast&, std::span<const Value>);
Meta infer(const op::Reshape&, std::span<const Value>);
Meta infer(const op::Transpose&, std::span<const Value>);
Meta infer(const op::Slice&, std::span<const Value>);
Meta infer(const op::Reverse&, std::span<const Value>);
Meta infer(const op::Concatenate&, std::span<const Value>);
Meta infer(const op::Sum&, std::span<const Value>);
Meta infer(const op::Max&, std::span<const Value>);
Meta infer(const op::ArgMax&, std::span<const Value>);
Meta infer(const op::OneHot&, std::span<const Value>);
Meta infer(const op::Gather&, std::span<const Value>);
Meta infer(const op::ScatterAdd&, std::span<const Value>);
Meta infer(const op::MatMul&, std::span<const Value>);
Meta infer(const op::Convolution&, std::span<const Value>);
Meta infer(const op::ConvolutionInput&, std::span<const Value>);
Meta infer(const op::ConvolutionFilter&, std::span<const Value>);
Meta infer(const op::PoolArgMax&, std::span<const Value>);
Meta infer(const op::PoolGather&, std::span<const Value>);
Meta infer(const op::PoolScatter&, std::span<const Value>);
Meta infer(const op::Softmax&, std::span<const Value>);
Meta infer(const op::SoftmaxCrossentropy&, std::span<const Value>);
Meta infer(const op::SparseSoftmaxCrossentropy&, std::span<const Value>);
Meta infer(const op::Uniform&, std::span<const Value>);
Meta infer(const op::Scan&, std::span<const Value>);
Meta infer(const op::AllReduce&, std::span<const Value>);

/// The properties that distinguish the rules of elementwise ops.
struct ElementwiseRule {
  std::string_view name;
  std::size_t arity;
  bool floating, leaves_bytes, condition, selects;
};
Meta infer_elementwise(const ElementwiseRule&, std::span<const Value>);

template <op::ElementwiseOp F> Meta infer(const F&, std::span<const Value> inputs) {
  return infer_elementwise({struct_name<F>(), F::traits.arity, F::traits.floating, F::traits.leaves_bytes,
                            F::traits.condition, std::is_same_v<F, op::Select>},
                           inputs);
}

/// The arguments of a gradient rule: the node's operands `x`, its result `y`, and `dy`, the derivative of the target
/// with respect to y.
struct Differential {
  std::span<const Value> x;
  Value y;
  Value dy;
};
/// The gradient for each operand, built from ops. An empty Value means no gradient, and missing entries at the end too.
using OperandGradients = std::vector<Value>;

OperandGradients gradient(const op::Cast&, const Differential&);
OperandGradients gradient(const op::Broadcast&, const Differential&);
OperandGradients gradient(const op::Reshape&, const Differential&);
OperandGradients gradient(const op::Transpose&, const Differential&);
OperandGradients gradient(const op::Slice&, const Differential&);
OperandGradients gradient(const op::Reverse&, const Differential&);
OperandGradients gradient(const op::Concatenate&, const Differential&);
OperandGradients gradient(const op::Sum&, const Differential&);
OperandGradients gradient(const op::Max&, const Differential&);
OperandGradients gradient(const op::Gather&, const Differential&);
OperandGradients gradient(const op::ScatterAdd&, const Differential&);
OperandGradients gradient(const op::MatMul&, const Differential&);
OperandGradients gradient(const op::Convolution&, const Differential&);
OperandGradients gradient(const op::ConvolutionInput&, const Differential&);
OperandGradients gradient(const op::ConvolutionFilter&, const Differential&);
OperandGradients gradient(const op::PoolGather&, const Differential&);
OperandGradients gradient(const op::PoolScatter&, const Differential&);
OperandGradients gradient(const op::Softmax&, const Differential&);
OperandGradients gradient(const op::SoftmaxCrossentropy&, const Differential&);
OperandGradients gradient(const op::SparseSoftmaxCrossentropy&, const Differential&);
OperandGradients gradient(const op::Scan&, const Differential&);
OperandGradients gradient(const op::AllReduce&, const Differential&);

OperandGradients gradient(const op::Negate&, const Differential&);
OperandGradients gradient(const op::Absolute&, const Differential&);
OperandGradients gradient(const op::Square&, const Differential&);
OperandGradients gradient(const op::Sqrt&, const Differential&);
OperandGradients gradient(const op::Exp&, const Differential&);
OperandGradients gradient(const op::Log&, const Differential&);
OperandGradients gradient(const op::Log1p&, const Differential&);
OperandGradients gradient(const op::Sin&, const Differential&);
OperandGradients gradient(const op::Cos&, const Differential&);
OperandGradients gradient(const op::Tanh&, const Differential&);
OperandGradients gradient(const op::Sigmoid&, const Differential&);
OperandGradients gradient(const op::Relu&, const Differential&);
OperandGradients gradient(const op::Softplus&, const Differential&);
OperandGradients gradient(const op::Erf&, const Differential&);
OperandGradients gradient(const op::Add&, const Differential&);
OperandGradients gradient(const op::Subtract&, const Differential&);
OperandGradients gradient(const op::Multiply&, const Differential&);
OperandGradients gradient(const op::Divide&, const Differential&);
OperandGradients gradient(const op::Power&, const Differential&);
OperandGradients gradient(const op::Maximum&, const Differential&);
OperandGradients gradient(const op::Minimum&, const Differential&);
OperandGradients gradient(const op::Select&, const Differential&);

/// Ops without a gradient.
template <class O>
concept Constantlike = !traits_of<O>().differentiable;
template <Constantlike O> OperandGradients gradient(const O&, const Differential&) { return {}; }

}  // namespace etude
