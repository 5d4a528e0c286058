#pragma once

#include <cstdint>
#include <memory>

#include "etude/base/task.hpp"
#include "etude/data/batch.hpp"

namespace etude {

/// Batches that are known by their number, so that they can be shuffled, and made by several threads. Source:
/// keras/utils/data_utils.py (2.9).
class Sequence {
 public:
  virtual ~Sequence() = default;
  /// How many batches there are. Asked at the beginning of each epoch.
  virtual std::int64_t size() const = 0;
  /// Batch `index`. Called by several threads at a time where fit has several workers.
  virtual Batch batch(std::int64_t index) = 0;
  /// Called after each epoch, when nothing is in the making.
  virtual void on_epoch_end() {}

  /// The same where a batch has to be waited for in an event loop; workers are then how many are asked for at a time.
  virtual Task<Batch> fetch(std::int64_t index) { co_return batch(index); }
  /// Whether `fetch` may have to wait for an event loop.
  virtual bool asynchronous() const { return false; }
};
using SequencePtr = std::shared_ptr<Sequence>;

}  // namespace etude
