#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// A tensor of each replica, in their order. Source: tf.distribute.DistributedValues.
using PerReplica = std::vector<Tensor>;

enum class ReduceOp : std::uint8_t { sum, mean };

/// The sum or the mean of the replicas' tensors, element by element, in their order. Throws Error(value) without one,
/// Error(shape) where shapes or dtypes differ, Error(dtype) for the mean of integers.
Tensor reduce(ReduceOp op, const PerReplica& values);

/// One tensor of what each replica made: the "first" one's, all of them joined along axis 0 ("concat"), their "sum" or
/// "mean"; "auto" is the mean of scalars and joins all others. Throws Error(value) for another `reduction`, and as
/// reduce() does. Source: reduce_per_replica in keras/src/backend/tensorflow/trainer.py.
Tensor reduce_per_replica(const PerReplica& values, std::string_view reduction = "auto");

}  // namespace etude
