#pragma once

#include "etude/execution/dataflow.hpp"
#include "etude/execution/device.hpp"

namespace etude {

/// The first pass: finds the attention of a graph that the device computes by separate instructions (Device::attends).
/// It is a Softmax of a product of queries and keys, times a number, lowered where a mask is false; then the product of
/// that Softmax with values; and the gradients of these nodes. No other nodes may read the nodes in between.
AttentionPatterns find_attention(const Graph& graph, const Wanted& wanted, const Device& device);

/// The sizes of a pattern.
instruction::AttentionShape attention_shape(const Graph& graph, const AttentionPattern& pattern);
/// The bytes of the statistics of its rows.
std::size_t statistics_bytes(const instruction::AttentionShape& shape);

}  // namespace etude
