#include <algorithm>

#include "etude/training/coordinator.hpp"

namespace etude {

Partitioner fixed_shards_partitioner(std::int64_t num_shards) {
  check(num_shards >= 1, ErrorKind::value, "fixed_shards_partitioner", "num_shards = ", num_shards,
        " - expected at least 1 - pass a positive number.");
  return [num_shards](const Shape& shape, DType) {
    return shape.rank() == 0 ? 1 : std::clamp<std::int64_t>(shape[0], 1, num_shards);
  };
}

Partitioner min_size_partitioner(std::int64_t min_shard_bytes, std::int64_t max_shards) {
  check(min_shard_bytes >= 1 && max_shards >= 1, ErrorKind::value, "min_size_partitioner",
        "min_shard_bytes = ", min_shard_bytes, " and max_shards = ", max_shards,
        " - expected at least 1 - pass positive numbers.");
  return [=](const Shape& shape, DType dtype) -> std::int64_t {
    if (shape.rank() == 0) return 1;
    const std::int64_t bytes = shape.size() * static_cast<std::int64_t>(size_of(dtype));
    const std::int64_t parts = bytes / min_shard_bytes + (bytes % min_shard_bytes != 0);
    return std::max<std::int64_t>(1, std::min({shape[0], max_shards, parts}));
  };
}

}  // namespace etude
