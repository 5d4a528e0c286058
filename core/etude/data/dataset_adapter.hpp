#pragma once

#include <optional>

#include "etude/data/awaited_adapter.hpp"
#include "etude/data/dataset.hpp"

namespace etude {

/// Batches of a Dataset, as they come. An epoch begins anew unless `steps` is another number than the dataset's own:
/// then epochs are cut out of one pass (L-19). Source: DatasetAdapter in keras/engine/data_adapter.py (2.9).
class DatasetAdapter : public AwaitedAdapter {
 public:
  explicit DatasetAdapter(Dataset dataset, std::optional<std::int64_t> steps = {});

  std::optional<std::int64_t> size() const override;
  bool infinite() const override { return dataset_.cardinality() == Dataset::infinite; }
  Passes passes() const override { return passes_; }
  void begin_epoch(int epoch) override;
  /// The epoch in which the pass began, and how many batches were taken since.
  DataState state() const override { return {epoch_, taken()}; }
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
