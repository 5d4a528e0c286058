#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// A tensor of each replica, in the order of the replicas. Source: tf.distribute.DistributedValues.
using PerReplica = std::vector<Tensor>;

/// Rows [begin, end) of a batch.
struct RowRange {
  std::int64_t begin, end;
};
/// The rows of replica `index` of `replicas`: contiguous, in the order of the replicas, and as even as possible; the
/// first replicas have one row more if the division has a remainder.
RowRange rows_of(std::int64_t batch, int replicas, int index);

enum class ReduceOp : std::uint8_t { sum, mean };

/// The sum or the mean of the replicas' tensors, element by element, in the order of the replicas. Throws Error(value)
/// without a tensor, Error(shape) if shapes or dtypes differ, Error(dtype) for the mean of integers.
Tensor reduce(ReduceOp op, const PerReplica& values);

/// Reduces the replicas' results to one tensor: the result of the first ("first"), all of them concatenated along axis
/// 0 ("concat"), their "sum" or their "mean"; "auto" is the mean of scalars and concatenates all others. Throws
/// Error(value) for another `reduction`, and as reduce() does. Source: reduce_per_replica in
/// keras/src/backend/tensorflow/trainer.py.
Tensor reduce_per_replica(const PerReplica& values, std::string_view reduction = "auto");

}  // namespace etude
