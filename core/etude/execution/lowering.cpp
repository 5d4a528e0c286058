#include "etude/execution/lowering.hpp"

#include <algorithm>
#include <array>

#include "etude/base/error.hpp"
#include "etude/execution/access.hpp"
#include "etude/execution/matrix_product.hpp"
#include "etude/execution/window_shapes.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

using instruction::ArgMax;
using instruction::Crossentropy;
using instruction::Elementwise;
using instruction::OneHot;
using instruction::Pooling;
using instruction::Reduce;
using instruction::Segment;

namespace {

Instruction reduce(Reduce::Kind kind, std::size_t first, std::size_t count, const Site& site) {
  const Shape& shape = site.shape(0);
  const std::int64_t outer = shape.slice(0, first).size(), reduced = shape.slice(first, first + count).size(),
                     inner = shape.slice(first + count, shape.rank()).size();
  return Reduce{kind, outer, reduced, inner, site.in(0), site.out(), {}};
}

/// dy from memory, or pooled together with its index.
template <class I> void set_dy(I& instruction, std::size_t operand, const Site& site) {
  const NodeId dy = site.flow().base[site.node().inputs[operand]];
  if (!site.flow().inlined[dy]) {
    instruction.dy = site.in(operand);
    return;
  }
  const Node& scatter = site.node(dy);
  instruction.pooling = pooling_of(std::get<op::PoolScatter>(scatter.op).window, scatter.shape);
  instruction.dy = site.placement().operand(scatter.inputs[0]);
  instruction.index = site.placement().operand(scatter.inputs[1]);
}

}  // namespace

std::int64_t Site::rows(std::size_t index) const {
  return shape(index).size() / std::max<std::int64_t>(count(index), 1);
}

namespace {

// The rule of each op whose Role is kernel. A missing one does not compile.

Instruction lower(const op::MatMul&, const Site& site) {
  if (const AttentionPattern* attention = site.flow().attention.at(site.id()))
    return site.id() == attention->output ? lower_attention(*attention, site)
                                          : lower_attention_gradient(*attention, site);
  auto [gemm, a, b] = matrix_product(site.flow(), site.id());
  gemm.a.operand = site.placement().operand(a);
  gemm.b.operand = site.placement().operand(b);
  gemm.c.operand = site.out();
  return gemm;
}

Instruction lower(const op::Convolution& o, const Site& site) {
  return instruction::Convolution{
      convolution_shape(o.window, site.shape(0), site.shape(1)), {}, site.in(0), site.in(1), site.out(), {}, {}, 0, {}};
}

Instruction lower(const op::ConvolutionInput& o, const Site& site) {
  instruction::ConvolutionInput result{
      convolution_shape(o.window, o.shape, site.shape(1)), {}, {}, {}, site.in(1), site.out(), {}, 0, {}};
  set_dy(result, 0, site);
  return result;
}

Instruction lower(const op::ConvolutionFilter& o, const Site& site) {
  instruction::ConvolutionFilter result{
      convolution_shape(o.window, site.shape(0), o.shape), {}, site.in(0), {}, {}, site.out(), {}, 0, {}};
  set_dy(result, 1, site);
  return result;
}

Instruction lower(const op::PoolArgMax& o, const Site& site) {
  return instruction::MaxPool{pooling_of(o.window, site.shape(0)), site.in(0), {}, site.out()};
}

/// A PoolGather alone, or with its PoolArgMax, or as the pooling of a convolution.
Instruction lower(const op::PoolGather& o, const Site& site) {
  const Pooling pooling = pooling_of(o.window, site.shape(0));
  const NodeId index = site.inner<op::PoolArgMax>(), convolution = site.inner<op::Convolution>();
  if (index < 0) return instruction::PoolGather{pooling, site.in(0), site.in(1), site.out()};
  if (convolution < 0) return instruction::MaxPool{pooling, site.in(0), site.out(), site.wanted(index)};
  const Node& before = site.node(convolution);
  return instruction::Convolution{
      convolution_shape(std::get<op::Convolution>(before.op).window, site.node(before.inputs[0]).shape,
                        site.node(before.inputs[1]).shape),
      pooling,
      site.placement().operand(before.inputs[0]),
      site.placement().operand(before.inputs[1]),
      site.out(),
      site.wanted(index),
      {},
      0,
      {}};
}

Instruction lower(const op::PoolScatter& o, const Site& site) {
  return instruction::PoolScatter{pooling_of(o.window, o.shape), site.in(0), site.in(1), site.out()};
}

Instruction lower(const op::Sum& o, const Site& site) { return reduce(Reduce::Kind::sum, o.first, o.count, site); }
Instruction lower(const op::Max& o, const Site& site) { return reduce(Reduce::Kind::max, o.first, o.count, site); }

Instruction lower(const op::Cumsum& o, const Site& site) {
  const Shape& shape = site.shape(0);
  return instruction::Cumsum{shape.slice(0, o.axis).size(),
                             shape[o.axis],
                             shape.slice(o.axis + std::size_t{1}, shape.rank()).size(),
                             o.exclusive,
                             o.reverse,
                             site.in(0),
                             site.out()};
}

/// Copies the parts that were not written in place.
Instruction lower(const op::Concatenate& o, const Site& site) {
  const Node& node = site.node();
  Elementwise result;
  result.program.inputs = {{instruction::lane_of(node.dtype)}};
  result.program.outputs = {{0}};
  result.program.registers = 1;
  const Shape steps = strides(node.shape);
  const auto axis = static_cast<std::ptrdiff_t>(o.axis);
  std::int64_t offset = 0;
  for (NodeId input : node.inputs) {
    const Node& part = site.node(input);
    Segment segment{
        part.shape.size(), {site.placement().access_to(site.flow().base[input])}, {strided_access(part.shape, steps)}};
    Operand& target = segment.outputs[0].operand;
    target = site.out();
    target.offset += offset * static_cast<std::int64_t>(size_of(node.dtype));
    if (segment.size > 0 && segment.inputs[0].operand != target) result.segments.push_back(std::move(segment));
    offset += part.shape[axis] * steps[axis];
  }
  return result;
}

Instruction lower(const op::ArgMax&, const Site& site) {
  return ArgMax{site.rows(0), site.count(0), site.in(0), site.out()};
}

Instruction lower(const op::ArgSort& o, const Site& site) {
  return instruction::ArgSort{site.rows(0), site.count(0), o.descending, site.in(0), site.out()};
}

Instruction lower(const op::OneHot& o, const Site& site) {
  return OneHot{site.shape(0).size(), o.depth, site.in(0), site.out()};
}

Instruction lower(const op::Gather&, const Site& site) {
  const Shape& table = site.shape(0);
  return instruction::Gather{
      site.shape(1).size(), table.slice(1, table.rank()).size(), table[0], site.in(0), site.in(1), site.out()};
}

Instruction lower(const op::ScatterAdd& o, const Site& site) {
  const Shape& result = site.node().shape;
  return instruction::ScatterAdd{
      site.shape(1).size(), result.slice(1, result.rank()).size(), o.rows, site.in(0), site.in(1), site.out()};
}

Instruction lower(const op::Softmax&, const Site& site) {
  return instruction::Softmax{site.rows(0), site.count(0), site.in(0), site.out()};
}

Instruction lower(const op::SoftmaxCrossentropy&, const Site& site) {
  return Crossentropy{site.rows(0), site.count(0), false, site.in(0), site.in(1), site.out()};
}

Instruction lower(const op::SparseSoftmaxCrossentropy&, const Site& site) {
  return Crossentropy{site.rows(0), site.count(0), true, site.in(0), site.in(1), site.out()};
}

Instruction lower(const op::Uniform& o, const Site& site) {
  return instruction::Uniform{o.seed,     o.stream,   site.node().shape.size(),
                              site.in(0), site.out(), o.first + o.row_size * site.placement().replica.first_row};
}

Instruction lower(const op::Transpose& o, const Site& site) {
  const Shape from = strides(site.shape(0));
  Shape steps = site.node().shape;
  for (std::size_t i = 0; i < from.rank(); ++i) steps[static_cast<std::ptrdiff_t>(i)] = from[o.order[i]];
  return instruction::Transpose{site.node().shape, steps, site.in(0), site.out()};
}

[[noreturn]] void fail_without_kernel(const Site& site) {
  fail(ErrorKind::internal, "Lowering", name_of(site.node().op),
       " at the head of a group - expected an op that a kernel computes - this is a defect of the library.");
}
/// Ops without an instruction of their own.
template <class O>
  requires(traits_of<O>().role != op::Role::kernel)
Instruction lower(const O&, const Site& site) {
  fail_without_kernel(site);
}

}  // namespace

Instruction lower_anchor(const Placement& placement, int group) {
  const Group& of = placement.scheduled.group(group);
  return std::visit([site = Site(placement, of)](const auto& op) { return lower(op, site); },
                    placement.scheduled.graph().node(of.anchor).op);
}

}  // namespace etude
