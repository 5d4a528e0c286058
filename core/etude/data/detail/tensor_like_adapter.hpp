#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "etude/data/detail/data_adapter.hpp"
#include "etude/data/detail/prefetch.hpp"
#include "etude/data/detail/row_order.hpp"

namespace etude {

/// The batches of arrays in memory, the last one partial (L-2). Without shuffling a batch is a view of the arrays. With
/// shuffling, rows are gathered into buffers that are allocated once. Neither allocates in a step. Floats are cast to
/// floatx() once (L-38). Source: TensorLikeDataAdapter in keras/engine/data_adapter.py (2.9).
class TensorLikeAdapter : public DataAdapter {
 public:
  /// `arrays` are [samples, …] each. Throws Error(data) if their sizes differ (L-37) or there are none, and
  /// Error(value) for a batch_size or steps below 1.
  explicit TensorLikeAdapter(Batch arrays, const TensorLikeOptions& options = {});

  std::optional<std::int64_t> size() const override { return order_.batches(); }
  std::optional<std::int64_t> batch_size() const override { return order_.batch_size(); }
  std::optional<std::int64_t> partial_batch_size() const override { return order_.partial_batch_size(); }
  Passes passes() const override { return Passes::stream; }
  std::int64_t samples() const { return order_.samples(); }

  void begin_epoch(int epoch) override;
  PendingPtr fetch() override;
  const Batch* consume() override;
  const Batch* peek() override { return &example_; }
  /// None with `prefetch`, which copies rows in advance.
  std::shared_ptr<const Batch> arrays() const override { return prefetches_ ? nullptr : arrays_; }
  void select_rows() override;
  /// Seed, epoch, and the number of batches consumed in the pass.
  DataState state() const override;
  void restore(const DataState& state) override;

 private:
  /// A batch and, if rows are gathered, its memory.
  struct Slot {
    Batch batch, buffers;
  };

  Slot make_slot() const;
  bool fill(Slot& slot);
  void select(Slot& slot, std::int64_t rows) const;
  void note_order();
  void fill(Tensor& out, const Tensor& array, Tensor& buffer, std::int64_t rows);

  std::shared_ptr<const Batch> arrays_;
  Batch example_;
  RowOrder order_;
  bool prefetches_, selects_ = false;
  std::vector<std::int32_t> selected_;  ///< in the order of this pass
  std::int64_t pass_ = 0;
  std::int64_t consumed_ = 0;
  std::array<Slot, Prefetcher::slots> slots_;
  Prefetcher prefetcher_;  // last: its thread uses all members above
};

}  // namespace etude
