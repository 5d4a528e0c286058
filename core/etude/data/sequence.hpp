#pragma once

#include <cstdint>
#include <memory>

#include "etude/base/task.hpp"
#include "etude/data/batch.hpp"

namespace etude {

/// Batches with random access: they can be shuffled, and several threads can make them. Source:
/// keras/utils/data_utils.py (2.9).
class Sequence {
 public:
  virtual ~Sequence() = default;
  /// The number of batches. Called at the beginning of each epoch.
  virtual std::int64_t size() const = 0;
  /// Batch `index`. Several threads call it concurrently if fit has several workers.
  virtual Batch batch(std::int64_t index) = 0;
  /// Called after each epoch, when no batch is being made.
  virtual void on_epoch_end() {}

  /// The same if a batch must be awaited in an event loop. `workers` is then the number of concurrent requests.
  virtual Task<Batch> fetch(std::int64_t index) { co_return batch(index); }
  /// Whether `fetch` may have to wait for an event loop.
  virtual bool asynchronous() const { return false; }
};
using SequencePtr = std::shared_ptr<Sequence>;

}  // namespace etude
