#pragma once

#include <optional>

#include "etude/data/dataset.hpp"
#include "etude/data/detail/awaited_adapter.hpp"

namespace etude {

/// The batches of a Dataset. Each epoch restarts it, unless `steps` differs from the dataset's size: then epochs are
/// consecutive parts of one pass (L-19). Source: DatasetAdapter in keras/engine/data_adapter.py (2.9).
class DatasetAdapter : public AwaitedAdapter {
 public:
  explicit DatasetAdapter(Dataset dataset, std::optional<std::int64_t> steps = {});

  std::optional<std::int64_t> size() const override;
  bool infinite() const override { return dataset_.cardinality() == Dataset::infinite; }
  Passes passes() const override { return passes_; }
  void begin_epoch(int epoch) override;
  /// The epoch in which the pass began, and the number of batches consumed since.
  DataState state() const override { return {epoch_, consumed()}; }
  void restore(const DataState& state) override;

 protected:
  Task<std::optional<Batch>> next() override;

 private:
  Dataset dataset_;
  Passes passes_;
  int epoch_ = 0;
  DatasetIterator elements_;
};

}  // namespace etude
