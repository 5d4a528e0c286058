#include <algorithm>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"

// Graph::append: merges equal nodes, infers shapes and dtypes, and computes half precision in float32.

namespace etude {
namespace {

std::size_t mixed(std::size_t seed, std::size_t value) {
  return (seed ^ value) * static_cast<std::size_t>(0x9E3779B97F4A7C15u) + (seed >> 29);
}

/// Equal nodes have equal hashes. The hash of a leaf includes its payload, since many leaves have no operands.
std::size_t hash_of(const Op& op, std::span<const Value> inputs) {
  std::size_t hash = mixed(17, op.index());
  for (const Value& input : inputs) hash = mixed(hash, static_cast<std::size_t>(input.id()));
  if (const auto* constant = std::get_if<op::Constant>(&op)) hash = mixed(hash, std::hash<double>{}(constant->value));
  if (const auto* read = std::get_if<op::Read>(&op)) hash = mixed(hash, std::hash<const void*>{}(read->variable.id()));
  if (const auto* input = std::get_if<op::Input>(&op)) hash = mixed(hash, static_cast<std::size_t>(input->index));
  return hash;
}

bool any_half(std::span<const Value> inputs) {
  return std::ranges::any_of(inputs, [](const Value& input) { return is_half(input.dtype()); });
}

bool same_inputs(const Node& node, std::span<const Value> inputs) {
  return std::equal(node.inputs.begin(), node.inputs.end(), inputs.begin(), inputs.end(),
                    [](NodeId id, const Value& value) { return id == value.id(); });
}

}  // namespace

Value Graph::append(Op op, std::initializer_list<Value> inputs) {
  return append(std::move(op), std::span(inputs.begin(), inputs.size()));
}

Value Graph::append(Op op, std::span<const Value> inputs) {
  if (std::ranges::any_of(inputs, [this](const Value& input) { return !input || &input.graph() != this; }))
    return append_local(std::move(op), inputs);
  if (any_half(inputs) && !keeps_halves(op)) return append_upcast(std::move(op), inputs);
  const std::size_t hash = hash_of(op, inputs);
  // All-reduces are counted, not merged: for a shard of another shape, equal Values may be different ones.
  const bool is_all_reduce = shard_.replicas > 1 && std::holds_alternative<op::AllReduce>(op);
  for (auto [it, end] = known_.equal_range(hash); it != end && !is_all_reduce; ++it)
    if (const Node& node = this->node(it->second); node.op == op && same_inputs(node, inputs))
      return {*this, it->second};

  Meta meta = std::visit([&](const auto& o) { return infer(o, inputs); }, op);
  static_cast<void>(meta.shape.size());  // throws if the number of elements overflows
  if (std::holds_alternative<op::Broadcast>(op) || std::holds_alternative<op::Reshape>(op))
    if (const auto* number = std::get_if<op::Constant>(&inputs[0].op()))
      return constant(number->value, meta.dtype, meta.shape);  // which needs no memory, for any number of repetitions
  Node node{std::move(op), {}, meta.shape, meta.dtype};
  for (const Value& input : inputs) node.inputs.push_back(input.id());
  const NodeId id = push(std::move(node));
  known_.emplace(hash, id);
  return {*this, id};
}

bool Graph::keeps_halves(const Op& op) const {
  const op::Halves halves = traits_of(op).halves;
  return halves == op::Halves::kept || (halves == op::Halves::multiplied && multiplies_halves_);
}

Value Graph::append_upcast(Op op, std::span<const Value> inputs) {
  const DType half = std::ranges::find_if(inputs, [](const Value& x) { return is_half(x.dtype()); })->dtype();
  std::vector<Value> wide(inputs.begin(), inputs.end());
  for (Value& x : wide) {
    check(!is_floating(x.dtype()) || x.dtype() == half, ErrorKind::dtype, name_of(op), "operands of dtype ", half,
          " and ", x.dtype(), " - expected equal dtypes - cast one of them.");
    if (x.dtype() != half) continue;
    const auto* number = std::get_if<op::Constant>(&x.op());
    x = number ? constant(number->value, DType::float32, number->shape) : append(op::Cast{DType::float32}, {x});
  }
  const Value y = append(std::move(op), wide);
  return is_floating(y.dtype()) ? append(op::Cast{half}, {y}) : y;
}

// The leaves' shape rules.
Meta op::Input::infer(Operands) const { return {shape, dtype}; }
Meta op::Constant::infer(Operands) const { return {shape, dtype}; }
Meta op::Read::infer(Operands) const { return {variable.shape(), variable.dtype()}; }

}  // namespace etude
