#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "etude/data/batch.hpp"

namespace etude {

/// Makes items 0, 1, 2, … on several threads, up to `ahead` of them in advance, and returns them in order. Without
/// workers, or if the build does not prefetch (see Prefetcher), `consume` makes them itself; also if the system starts
/// no thread. If it starts only some threads, these make all items. Source: OrderedEnqueuer in
/// keras/utils/data_utils.py (2.9).
class OrderedQueue {
 public:
  /// Makes item `number`; empty if there are no more. Several workers call it concurrently. `consume` rethrows its
  /// exceptions.
  using Make = std::function<std::optional<Batch>(std::int64_t number)>;

  OrderedQueue(Make make, int workers, std::int64_t ahead);
  /// Waits for the items that are being made.
  ~OrderedQueue();

  /// Starts with item `first`.
  void start(std::int64_t first);
  /// The next item; empty at the end, and after an exception.
  std::optional<Batch> consume();
  /// Waits for the items that are being made, and discards all, so that `start` can be called again.
  void stop();

 private:
  class Workers;

  Make make_;
  std::unique_ptr<Workers> workers_;
  std::int64_t next_ = 0;
  bool ended_ = true;
};

}  // namespace etude
