#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "etude/data/array_like.hpp"
#include "etude/data/detail/dataset_node.hpp"

namespace etude {
class BatchSource;
class Dataset;
}  // namespace etude

/// The nodes of Dataset's functions. These functions check the arguments.
namespace etude::stages {

// The types of the same names in Dataset.
using AsyncMap = std::function<Task<Batch>(Batch)>;
using AsyncPredicate = std::function<Task<bool>(Batch)>;
using AsyncExpand = std::function<Task<Dataset>(Batch)>;

// Sources: dataset_sources.cpp.
DatasetNodePtr slices(Batch arrays);
DatasetNodePtr array_likes(std::vector<ArrayLikePtr> x, std::vector<ArrayLikePtr> y,
                           std::vector<ArrayLikePtr> sample_weight);
DatasetNodePtr sources(std::function<std::unique_ptr<BatchSource>()> make, bool asynchronous);
DatasetNodePtr range(std::int64_t begin, std::int64_t end, std::int64_t step);

// One element becomes zero, one or more: dataset_elements.cpp.
DatasetNodePtr map(DatasetNodePtr input, AsyncMap function, bool asynchronous);
DatasetNodePtr filter(DatasetNodePtr input, AsyncPredicate predicate, bool asynchronous);
DatasetNodePtr batch(DatasetNodePtr input, std::int64_t size, bool drop_remainder);
DatasetNodePtr unbatch(DatasetNodePtr input);
DatasetNodePtr assert_cardinality(DatasetNodePtr input, std::int64_t cardinality);

// Selection and order of elements: dataset_order.cpp.
DatasetNodePtr repeat(DatasetNodePtr input, std::int64_t count);
DatasetNodePtr take(DatasetNodePtr input, std::int64_t count);
DatasetNodePtr skip(DatasetNodePtr input, std::int64_t count);
DatasetNodePtr shard(DatasetNodePtr input, std::int64_t num_shards, std::int64_t index);

// dataset_shuffle.cpp.
DatasetNodePtr shuffle(DatasetNodePtr input, std::int64_t buffer_size, std::uint64_t seed,
                       bool reshuffle_each_iteration);

// Several datasets become one: dataset_joins.cpp.
DatasetNodePtr zip(std::vector<DatasetNodePtr> inputs);
DatasetNodePtr concatenate(DatasetNodePtr first, DatasetNodePtr second);
DatasetNodePtr interleave(DatasetNodePtr input, AsyncExpand function, std::int64_t cycle_length,
                          std::int64_t block_length, bool asynchronous);

// Buffers of elements: dataset_buffers.cpp.
DatasetNodePtr cache(DatasetNodePtr input);
DatasetNodePtr prefetch(DatasetNodePtr input, std::int64_t count);

}  // namespace etude::stages
