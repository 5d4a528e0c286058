#pragma once

#include <functional>
#include <memory>

namespace etude {

/// A request to end this process soon, such as SIGTERM. While such an object exists, the first request does not end the
/// process: its owner does, after saving its work. A request a second or more after the first one ends the process at
/// once, with the same status. Earlier ones belong to the first.
class Termination {
 public:
  virtual ~Termination() = default;
  /// Whether a request was made. From then on the owner must handle it.
  virtual bool requested() = 0;
  /// Ends the process with status 143 (128 + SIGTERM). Static objects are not destroyed, since other threads may use
  /// them.
  [[noreturn]] virtual void exit() = 0;
};
using WatchTermination = std::function<std::unique_ptr<Termination>()>;

/// Watches for SIGTERM, by a handler that is installed while the object exists. A request that is not handled is passed
/// to the previous handler. Empty if there are no signals, as in WebAssembly.
WatchTermination watch_sigterm();

}  // namespace etude
