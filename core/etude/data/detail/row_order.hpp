#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "etude/base/random.hpp"
#include "etude/data/data_state.hpp"

namespace etude {

/// The kind of shuffling in each epoch (L-31): nothing, the rows, or the order of the batches and the rows within each.
enum class Shuffle : std::uint8_t { none, samples, batch };

struct TensorLikeOptions {
  /// Default: 32, or ceil(samples / steps) if steps are given (L-1).
  std::optional<std::int64_t> batch_size{};
  std::optional<std::int64_t> steps{};
  Shuffle shuffle = Shuffle::none;
  std::uint64_t seed = random_seed();
  /// Gathers the next batch on a separate thread. Default: off, since copying 400 kB takes 30 µs, less than waking a
  /// thread may.
  bool prefetch = false;
};

/// Assigns rows to batches: all rows once per pass, the last batch partial (L-2), in an order that depends on (seed,
/// epoch) alone. No pass allocates.
class RowOrder {
 public:
  /// Throws Error(value) for a batch_size or steps below 1, and for more samples to shuffle than 2^32.
  RowOrder(std::int64_t samples, const TensorLikeOptions& options);

  std::int64_t samples() const { return samples_; }
  std::int64_t batch_size() const { return batch_size_; }
  std::int64_t batches() const { return (samples_ + batch_size_ - 1) / batch_size_; }
  std::optional<std::int64_t> partial_batch_size() const;
  bool shuffles() const { return shuffle_ != Shuffle::none; }

  /// Begins a pass, at batch number `batch`.
  void begin(int epoch, std::int64_t batch = 0);
  int epoch() const { return epoch_; }
  /// Seed, epoch, and `batch`: the number of batches consumed in the pass.
  DataState state(std::int64_t batch) const;
  /// Returns to the state, and returns `batch`. Throws Error(value) for an invalid state.
  std::int64_t restore(const DataState& state);

  bool ended() const { return sample_ == samples_; }
  /// The next batch: the number of its rows, and their indices; without shuffling they are consecutive, from first()
  /// on.
  std::int64_t rows() const;
  std::int64_t first() const { return sample_; }
  const std::int64_t* indices() const { return order_.data() + sample_; }
  /// The row numbers of the whole pass; empty without shuffling.
  std::span<const std::int64_t> order() const { return order_; }
  void advance();

 private:
  void shuffle_batches();

  std::int64_t samples_, batch_size_;
  Shuffle shuffle_;
  std::uint64_t seed_;
  int epoch_ = 0;
  std::vector<std::int64_t> order_, batch_order_;
  std::int64_t batch_ = 0, sample_ = 0;
};

}  // namespace etude
