#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "etude/base/random.hpp"
#include "etude/data/detail/awaited_adapter.hpp"
#include "etude/data/detail/ordered_queue.hpp"
#include "etude/data/sequence.hpp"

namespace etude {

struct SequenceOptions {
  /// Whether batches have a new order in each epoch, which depends on (seed, epoch) alone (L-31).
  bool shuffle = false;
  std::uint64_t seed = random_seed();
  /// Up to 1: the caller's thread makes batches. More: this number of threads makes them in advance.
  int workers = 1;
  /// The most batches that are made in advance.
  std::int64_t max_queue_size = 10;
};

/// The batches of a Sequence, in the same order for any number of workers. Every epoch restarts it (L-19). Source:
/// KerasSequenceAdapter in keras/engine/data_adapter.py (2.9).
class SequenceAdapter : public AwaitedAdapter {
 public:
  /// Throws Error(value) without a sequence, for less than 0 workers and for a queue below 1.
  explicit SequenceAdapter(SequencePtr sequence, const SequenceOptions& options = {});

  std::optional<std::int64_t> size() const override { return size_; }
  Passes passes() const override { return Passes::each_epoch; }
  void begin_epoch(int epoch) override;
  void on_epoch_end() override;
  /// Seed, epoch, and the number of consumed batches. A sequence that changes in on_epoch_end has to be restored
  /// separately.
  DataState state() const override { return with_seed(options_.seed, {epoch_, consumed()}); }
  void restore(const DataState& state) override;

 protected:
  Task<std::optional<Batch>> next() override;

 private:
  /// A requested batch.
  struct Asked {
    std::optional<Batch> batch;
    PendingPtr pending;
  };

  void begin(int epoch, std::int64_t batch);
  void ask();
  Task<> bring(Asked& asked, std::int64_t index);
  std::optional<Batch> make(std::int64_t number);
  /// The index in the sequence of batch number `number`.
  std::int64_t index_of(std::int64_t number) const;

  SequencePtr sequence_;
  SequenceOptions options_;
  int epoch_ = 0;
  std::vector<std::int64_t> order_;  // if batches are shuffled
  std::int64_t size_ = 0, next_ = 0;
  std::deque<std::unique_ptr<Asked>> asked_;
  OrderedQueue queue_;  // last: its threads use all members above
};

}  // namespace etude
