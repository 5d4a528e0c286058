#pragma once

#include <array>
#include <vector>

#include "etude/data/array_like.hpp"
#include "etude/data/detail/awaited_adapter.hpp"
#include "etude/data/detail/row_order.hpp"

namespace etude {

/// Arrays from which only the rows of the next batch are read.
struct ArrayLikes {
  std::vector<ArrayLikePtr> x, y, sample_weight;
  std::shared_ptr<const BatchNames> names = {};
};

/// Batches of arrays that are read on demand; with shuffling, row by row. Passes and epochs are as those of arrays in
/// memory. Source: GenericArrayLikeDataAdapter and CompositeTensorDataAdapter in keras/engine/data_adapter.py (2.9).
class ArrayLikeAdapter : public AwaitedAdapter {
 public:
  /// Throws Error(data) if the numbers of rows differ (L-37) or there are no arrays, and Error(value) for a batch_size
  /// or steps below 1.
  explicit ArrayLikeAdapter(ArrayLikes arrays, const TensorLikeOptions& options = {});

  std::optional<std::int64_t> size() const override { return order_.batches(); }
  std::optional<std::int64_t> batch_size() const override { return order_.batch_size(); }
  std::optional<std::int64_t> partial_batch_size() const override { return order_.partial_batch_size(); }
  Passes passes() const override { return Passes::stream; }
  void begin_epoch(int epoch) override;
  /// Seed, epoch, and the number of batches consumed in this pass.
  DataState state() const override { return order_.state(consumed()); }
  void restore(const DataState& state) override;

 protected:
  Task<std::optional<Batch>> next() override;

 private:
  Task<> read(const std::vector<ArrayLikePtr>& arrays, std::vector<Tensor>& tensors) const;

  ArrayLikes arrays_;
  RowOrder order_;
  std::vector<std::int64_t> rows_;
};

}  // namespace etude
