#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace etude {

/// Works one slot ahead: while the caller uses what was made in one slot, a thread makes the next in the other one.
/// Without `threaded`, or where the build does not prefetch (ETUDE_PREFETCH: in WebAssembly a thread may begin only
/// after its maker returned to the page, so no thread may wait for it), the caller's thread does the work in `take` and
/// only slot 0 is used; likewise where the system has no thread left. Allocates nothing per step.
class Prefetcher {
 public:
  static constexpr std::size_t slots = 2;
  /// Makes the next item in that slot; false: there are no more. What it throws comes out of `take`.
  using Fill = std::function<bool(std::size_t slot)>;

  Prefetcher(Fill fill, bool threaded);
  /// Waits for the item in the making.
  ~Prefetcher();

  /// Starts on the next item, unless that was done.
  void fetch();
  /// The slot of the next item, which stays untouched until the next `take`; empty at the end, and after an exception.
  std::optional<std::size_t> take();
  /// Waits for the item in the making and forgets it, so that the source can be rewound; `fetch` then starts afresh.
  void pause();

 private:
  class Worker;

  Fill fill_;
  std::unique_ptr<Worker> worker_;
  std::size_t next_ = 0;
  bool asked_ = false, ended_ = false;
};

}  // namespace etude
