#pragma once

#include <functional>
#include <memory>

namespace etude {

/// A request that this process end soon, such as SIGTERM. While such an object lives, the first request does not end
/// the process: its owner does, when its work is saved. The second request ends the process at once, with the same
/// status.
class Termination {
 public:
  virtual ~Termination() = default;
  /// Whether the request has come. From then on the owner answers it.
  virtual bool requested() = 0;
  /// Ends the process with status 143 (128 + SIGTERM). Static objects are not destroyed, for other threads may use
  /// them.
  [[noreturn]] virtual void exit() = 0;
};
using WatchTermination = std::function<std::unique_ptr<Termination>()>;

/// Notices SIGTERM by a handler that is there as long as the object is; a request without an answer then goes to the
/// handler that was there before. Empty where there are no signals, as in WebAssembly.
WatchTermination watch_sigterm();

}  // namespace etude
