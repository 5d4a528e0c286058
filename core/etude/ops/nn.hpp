#pragma once

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// Softmax over the last axis.
Value softmax(Value x);
/// x - log(sum(exp(x))) over the last axis, in ops.
Value log_softmax(Value x);
/// logits and targets [.., k] -> [..].
Value softmax_crossentropy(Value logits, Value targets);
/// logits [.., k], labels [..] of any integer or float dtype -> [..]. Where a mask of the logits is false, labels may
/// be any number.
Value sparse_softmax_crossentropy(Value logits, Value labels);
/// max(x, 0) - x·t + log1p(exp(-|x|)), elementwise.
Value sigmoid_crossentropy(Value logits, Value targets);
/// Dropout in training: each element of x is zeroed with probability `rate`, and the rest are scaled by 1 / (1 - rate).
/// `counter` is an int32 scalar that differs from step to step; `stream` distinguishes layers.
Value dropout(Value x, double rate, std::uint64_t seed, std::uint32_t stream, Value counter);
/// Draws in [0, 1), and from the standard normal distribution (Box-Muller). Replicas draw the same numbers for the rows
/// of their shards as one replica would. If the first axis is not the batch's, all replicas draw the same.
Value uniform(const Shape& shape, DType dtype, std::uint64_t seed, std::uint32_t stream, Value counter);
/// Draws from the normal distribution with mean 0 and standard deviation 1, like `uniform`.
Value normal(const Shape& shape, DType dtype, std::uint64_t seed, std::uint32_t stream, Value counter);
/// The sum over all replicas, each of which has processed its shard of the batch; x itself if there is one replica.
/// Optimizers all-reduce gradients themselves. Throws Error(dtype) for bool and uint8.
Value all_reduce(Value x);
/// One replica's part of a Value that is the same on all replicas, so that the sum of the parts is x; x itself if there
/// is one replica.
Value replica_part(Value x);

}  // namespace etude::ops
