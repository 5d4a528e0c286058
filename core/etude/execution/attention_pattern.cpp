#include "etude/execution/attention_pattern.hpp"

namespace etude {

void AttentionPatterns::add(const AttentionPattern& pattern, std::size_t count) {
  index_.resize(count, -1);
  for (const NodeId id : {pattern.weights, pattern.output, pattern.d_query, pattern.d_key, pattern.d_value})
    if (id >= 0) index_[id] = static_cast<int>(all_.size());
  all_.push_back(pattern);
}

const AttentionPattern* AttentionPatterns::find(NodeId id) const {
  const int index = index_.empty() ? -1 : index_[id];
  return index < 0 ? nullptr : &all_[static_cast<std::size_t>(index)];
}

std::span<const NodeId> AttentionPatterns::operands(NodeId id) const {
  const AttentionPattern& pattern = *at(id);
  if (id == pattern.weights) return {};
  return id == pattern.output ? pattern.operands : pattern.gradient_operands;
}

}  // namespace etude
