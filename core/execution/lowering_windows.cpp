#include <algorithm>

#include "etude/execution/lowering.hpp"
#include "etude/execution/window_shapes.hpp"

// How convolutions and pooling become instructions: alone, pooled as they are computed, and with gradients that are
// spread out as they are read.

namespace etude {

using instruction::Pooling;

std::optional<Instruction> Lowering::emit_windowed(const Node& node, int group) const {
  const Operand out = operand(fusion_.group(group).anchor);
  const auto in = [&](std::size_t i) { return operand(node.inputs[i]); };
  const auto shape = [&](std::size_t i) -> const Shape& { return graph_.node(node.inputs[i]).shape; };
  const auto inner = [&]<class O>(const O*) -> NodeId {
    for (NodeId id : fusion_.group(group).inner)
      if (std::holds_alternative<O>(graph_.node(id).op)) return id;
    return -1;
  };
  const auto wanted = [&](NodeId id) { return places_.contains(id) ? operand(id) : Operand{}; };

  if (const auto* o = std::get_if<op::Convolution>(&node.op))
    return instruction::Convolution{
        convolution_shape(o->window, shape(0), shape(1)), {}, in(0), in(1), out, {}, {}, 0, {}};
  if (const auto* o = std::get_if<op::PoolGather>(&node.op)) {
    const Pooling pooling = pooling_of(o->window, shape(0));
    const NodeId index = inner(static_cast<const op::PoolArgMax*>(nullptr)),
                 convolution = inner(static_cast<const op::Convolution*>(nullptr));
    if (index < 0) return instruction::PoolGather{pooling, in(0), in(1), out};
    if (convolution < 0) return instruction::MaxPool{pooling, in(0), out, wanted(index)};
    const Node& before = graph_.node(convolution);
    return instruction::Convolution{
        convolution_shape(std::get<op::Convolution>(before.op).window, graph_.node(before.inputs[0]).shape,
                          graph_.node(before.inputs[1]).shape),
        pooling,
        operand(before.inputs[0]),
        operand(before.inputs[1]),
        out,
        wanted(index),
        {},
        0,
        {}};
  }
  if (const auto* o = std::get_if<op::PoolArgMax>(&node.op))
    return instruction::MaxPool{pooling_of(o->window, shape(0)), in(0), {}, out};
  if (const auto* o = std::get_if<op::PoolScatter>(&node.op))
    return instruction::PoolScatter{pooling_of(o->window, o->shape), in(0), in(1), out};

  // dy as it lies in memory, or pooled together with its index.
  const auto gradient = [&](std::size_t i, auto& instruction) {
    const NodeId dy = fusion_.base(node.inputs[i]);
    if (!fusion_.inlined(dy)) return void(instruction.dy = in(i));
    const Node& scatter = graph_.node(dy);
    instruction.pooling = pooling_of(std::get<op::PoolScatter>(scatter.op).window, scatter.shape);
    instruction.dy = operand(scatter.inputs[0]);
    instruction.index = operand(scatter.inputs[1]);
  };
  if (const auto* o = std::get_if<op::ConvolutionInput>(&node.op)) {
    instruction::ConvolutionInput result{
        convolution_shape(o->window, o->shape, shape(1)), {}, {}, {}, in(1), out, {}, 0, {}};
    gradient(0, result);
    return result;
  }
  if (const auto* o = std::get_if<op::ConvolutionFilter>(&node.op)) {
    instruction::ConvolutionFilter result{
        convolution_shape(o->window, shape(0), o->shape), {}, in(0), {}, {}, out, {}, 0, {}};
    gradient(1, result);
    return result;
  }
  return std::nullopt;
}

}  // namespace etude
