#include "etude/execution/find_attention.hpp"
#include "etude/execution/lowering.hpp"
#include "etude/execution/strided_source.hpp"

namespace etude {

using instruction::Attention;
using instruction::AttentionGradient;
using instruction::StridedOperand;

namespace {

StridedOperand read(const Site& site, NodeId id) {
  const StridedSource source = strided_source(site.flow(), id);
  return {site.placement().operand(source.node), source.strides};
}

/// A result; unused if it is not computed.
StridedOperand written(const Site& site, NodeId id) {
  return id < 0 ? StridedOperand{} : StridedOperand{site.wanted(id), written_strides(site.flow(), id)};
}

/// The mask, repeated to the shape of the scores.
StridedOperand mask_of(const Site& site, const AttentionPattern& pattern) {
  if (pattern.mask < 0) return {};
  StridedOperand mask = read(site, pattern.mask);
  const Shape &from = site.node(pattern.mask).shape, &scores = site.node(pattern.weights).shape;
  const std::size_t missing = scores.rank() - from.rank();
  Shape strides = scores;
  for (std::size_t i = 0; i < scores.rank(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i), own = static_cast<std::ptrdiff_t>(i - missing);
    strides[axis] = i >= missing && from[own] > 1 ? mask.strides[own] : 0;
  }
  mask.strides = strides;
  return mask;
}

Operand statistics_of(const Site& site, const AttentionPattern& pattern) {
  Operand statistics = site.wanted(pattern.weights);
  statistics.dtype = DType::float32;
  return statistics;
}

}  // namespace

Instruction lower_attention(const AttentionPattern& pattern, const Site& site) {
  return Attention{.attention = attention_shape(site.flow().graph, pattern),
                   .query = read(site, pattern.query),
                   .key = read(site, pattern.key),
                   .value = read(site, pattern.value),
                   .mask = mask_of(site, pattern),
                   .out = written(site, pattern.output),
                   .statistics = statistics_of(site, pattern)};
}

Instruction lower_attention_gradient(const AttentionPattern& pattern, const Site& site) {
  return AttentionGradient{.attention = attention_shape(site.flow().graph, pattern),
                           .query = read(site, pattern.query),
                           .key = read(site, pattern.key),
                           .value = read(site, pattern.value),
                           .mask = mask_of(site, pattern),
                           .out = read(site, pattern.output),
                           .d_out = read(site, pattern.d_output),
                           .d_query = written(site, pattern.d_query),
                           .d_key = written(site, pattern.d_key),
                           .d_value = written(site, pattern.d_value),
                           .statistics = statistics_of(site, pattern)};
}

}  // namespace etude
