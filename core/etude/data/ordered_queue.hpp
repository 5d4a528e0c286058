#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "etude/data/batch.hpp"

namespace etude {

/// Makes items 0, 1, 2, … on several threads, up to `ahead` of them before they are wanted, and gives them in their
/// order. Without workers, or where the build does not prefetch (see Prefetcher), `take` makes them itself; likewise
/// where the system starts none, and where it starts some of them, those make all. Source: OrderedEnqueuer in
/// keras/utils/data_utils.py (2.9).
class OrderedQueue {
 public:
  /// Item `number`; nothing if there are no more. Called by several threads at a time if there are several workers.
  /// What it throws comes out of `take`.
  using Make = std::function<std::optional<Batch>(std::int64_t number)>;

  OrderedQueue(Make make, int workers, std::int64_t ahead);
  /// Waits for the items in the making.
  ~OrderedQueue();

  /// Begins, with item `first`.
  void start(std::int64_t first);
  /// The next item; nothing at the end, and after an exception.
  std::optional<Batch> take();
  /// Waits for the items in the making and forgets all, so that `start` can begin afresh.
  void stop();

 private:
  class Workers;

  Make make_;
  std::unique_ptr<Workers> workers_;
  std::int64_t next_ = 0;
  bool ended_ = true;
};

}  // namespace etude
