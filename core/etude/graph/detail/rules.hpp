#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include "etude/graph/detail/node.hpp"
#include "etude/graph/graph.hpp"

/// The rules of every op. An op's struct declares its own (graph/detail/op.hpp); those of elementwise ops are declared
/// here. A rule that is not declared does not compile; one that is not defined does not link.
namespace etude {

/// The shape and dtype of a node.
struct Meta {
  Shape shape;
  DType dtype;
};

/// The properties that distinguish the rules of elementwise ops.
struct ElementwiseRule {
  std::string_view name;
  std::size_t arity;
  bool floating, leaves_bytes, condition, selects;
};
Meta infer_elementwise(const ElementwiseRule&, Operands);

/// The shape rule of an op: infers the result's shape and dtype from the operands', or throws Error(shape) or
/// Error(dtype) that names them.
template <class O> Meta infer(const O& op, Operands x) {
  if constexpr (is_elementwise<O>)
    return infer_elementwise({struct_name<O>(), O::traits.arity, O::traits.floating, O::traits.leaves_bytes,
                              O::traits.condition, std::is_same_v<O, op::Select>},
                             x);
  else
    return op.infer(x);
}

/// The arguments of a gradient rule: the node's operands `x`, its result `y`, and `dy`, the derivative of the target
/// with respect to y.
struct Differential {
  Operands x;
  Value y;
  Value dy;
};

OperandGradients gradient(const op::Negate&, const Differential&);
OperandGradients gradient(const op::Absolute&, const Differential&);
OperandGradients gradient(const op::Square&, const Differential&);
OperandGradients gradient(const op::Sqrt&, const Differential&);
OperandGradients gradient(const op::Exp&, const Differential&);
OperandGradients gradient(const op::Log&, const Differential&);
OperandGradients gradient(const op::Log1p&, const Differential&);
OperandGradients gradient(const op::Sin&, const Differential&);
OperandGradients gradient(const op::Cos&, const Differential&);
OperandGradients gradient(const op::Arctan&, const Differential&);
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

/// The gradient of an op that has none, or that declares its own.
template <class O> OperandGradients gradient(const O& op, const Differential& d) {
  if constexpr (traits_of<O>().differentiable)
    return op.gradient(d);
  else
    return {};
}

}  // namespace etude
