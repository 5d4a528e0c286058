#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "etude/data/dataset_adapter.hpp"

namespace etude {

/// The context in which a dataset is created and read. Source: tf.distribute.InputContext.
struct InputContext {
  /// How many pipelines read the data, which of them this is, and how many replicas there are.
  std::int64_t num_input_pipelines = 1, input_pipeline_id = 0, num_replicas_in_sync = 1;

  /// The rows of each replica's shard of a global batch. Throws Error(value) if the division has a remainder.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const;
};

/// A function that creates a dataset where it is read. Source: keras/utils/dataset_creator.py (2.9).
struct DatasetCreator {
  /// Makes the dataset.
  std::function<Dataset(const InputContext&)> dataset_fn;
};

/// The batches of a creator's dataset. Its size is ignored: epochs are consecutive parts of one pass, by their steps.
/// Source: DatasetCreatorAdapter in keras/engine/data_adapter.py (2.9).
class DatasetCreatorAdapter : public DatasetAdapter {
 public:
  /// Throws Error(value) without a function, and without steps.
  DatasetCreatorAdapter(const DatasetCreator& creator, std::optional<std::int64_t> steps,
                        const InputContext& context = {});

  std::optional<std::int64_t> size() const override { return {}; }
  Passes passes() const override { return Passes::one; }
};

}  // namespace etude
