#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "etude/data/detail/dataset_adapter.hpp"

namespace etude {

/// The context in which a dataset is created and read. Source: tf.distribute.InputContext.
struct InputContext {
  /// The number of pipelines that read the data, the index of this one, and the number of replicas.
  std::int64_t num_input_pipelines = 1, input_pipeline_id = 0, num_replicas_in_sync = 1;

  /// The rows of each replica's shard of a global batch. Throws Error(value) if the division has a remainder.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const;
};

/// A function that creates a dataset where it is read. Source: keras/utils/dataset_creator.py (2.9).
struct DatasetCreator {
  /// Creates the dataset.
  std::function<Dataset(const InputContext&)> dataset_fn;
  /// The name of the creator among the processes of a ParameterServerStrategy; ignored without one.
  std::string name = {};
};

/// The batches of a creator's dataset. Its size is ignored: epochs are consecutive parts of one pass, by their steps.
/// Source: DatasetCreatorAdapter in keras/engine/data_adapter.py (2.9).
class DatasetCreatorAdapter : public DatasetAdapter {
 public:
  /// Throws Error(value) if the function or the steps are missing.
  DatasetCreatorAdapter(const DatasetCreator& creator, std::optional<std::int64_t> steps,
                        const InputContext& context = {});

  std::optional<std::int64_t> size() const override { return {}; }
  Passes passes() const override { return Passes::one; }
};

}  // namespace etude
