#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "etude/base/random.hpp"
#include "etude/data/data_adapter.hpp"
#include "etude/data/prefetch.hpp"

namespace etude {

/// What is put in a new order each epoch (L-31). `batch` shuffles the order of the batches and the rows inside each.
enum class Shuffle : std::uint8_t { none, samples, batch };

struct TensorLikeOptions {
  /// Default: 32, or ceil(samples / steps) if steps are given (L-1).
  std::optional<std::int64_t> batch_size{};
  std::optional<std::int64_t> steps{};
  Shuffle shuffle = Shuffle::none;
  std::uint64_t seed = random_seed();
  /// Gather the next batch on a thread of its own. Off: copying 400 kB takes 30 µs, less than waking a thread may.
  bool prefetch = false;
};

/// Batches of arrays in memory, the last one partial (L-2). Without shuffling a batch is a view of the arrays; with it,
/// rows are gathered into buffers made once. Either way no step allocates. Floats are cast to floatx() once (L-38).
/// Source: TensorLikeDataAdapter in keras/engine/data_adapter.py (2.9).
class TensorLikeAdapter : public DataAdapter {
 public:
  /// `arrays` are [samples, …] each. Throws Error(data) when their sizes differ (L-37) or nothing is there, and
  /// Error(value) for a batch_size or steps below 1.
  explicit TensorLikeAdapter(Batch arrays, const TensorLikeOptions& options = {});

  std::optional<std::int64_t> size() const override { return (samples_ + batch_size_ - 1) / batch_size_; }
  std::optional<std::int64_t> batch_size() const override { return batch_size_; }
  std::optional<std::int64_t> partial_batch_size() const override;
  Passes passes() const override { return Passes::stream; }
  std::int64_t samples() const { return samples_; }

  void begin_epoch(int epoch) override;
  PendingPtr fetch() override;
  const Batch* take() override;
  const Batch* peek() override { return &example_; }

 private:
  /// A batch and, when rows are gathered, the memory behind it.
  struct Slot {
    Batch batch, buffers;
  };

  Slot make_slot() const;
  void order_batches(int epoch);
  bool fill(Slot& slot);
  void fill(Tensor& out, const Tensor& array, Tensor& buffer, std::int64_t rows);
  std::int64_t rows_of_next() const;

  Batch arrays_, example_;
  std::int64_t samples_, batch_size_;
  Shuffle shuffle_;
  std::uint64_t seed_;
  std::vector<std::int64_t> order_, batch_order_;
  std::int64_t batch_ = 0, sample_ = 0;
  std::array<Slot, Prefetcher::slots> slots_;
  Prefetcher prefetcher_;  // last: its thread uses all of the above
};

}  // namespace etude
