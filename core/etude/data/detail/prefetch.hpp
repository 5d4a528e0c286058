#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace etude {

/// Works one slot in advance: while the caller uses the item in one slot, a thread makes the next in the other. The
/// caller's thread does the work in `consume`, and uses only slot 0, without `threaded`, if the system has no thread
/// left, or if the build does not prefetch (ETUDE_PREFETCH: in WebAssembly a thread may begin only after its creator
/// returned to the page, so no thread may wait for it). Steps allocate nothing.
class Prefetcher {
 public:
  static constexpr std::size_t slots = 2;
  /// Makes the next item in this slot. Returns false if there are no more. `consume` rethrows its exceptions.
  using Fill = std::function<bool(std::size_t slot)>;

  Prefetcher(Fill fill, bool threaded);
  /// Waits for the item that is being made.
  ~Prefetcher();

  /// Starts to make the next item, if it is not started yet.
  void fetch();
  /// The slot of the next item, which is unchanged until the next `consume`; empty at the end, and after an exception.
  std::optional<std::size_t> consume();
  /// Waits for the item that is being made, and discards it, so that the source can be rewound. `fetch` then starts
  /// again.
  void pause();

 private:
  class Worker;

  Fill fill_;
  std::unique_ptr<Worker> worker_;
  std::size_t next_ = 0;
  bool asked_ = false, ended_ = false;
};

}  // namespace etude
