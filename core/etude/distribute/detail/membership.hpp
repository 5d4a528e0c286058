#pragma once

#include <memory>

#include "etude/base/task.hpp"

namespace etude {

class Callback;
class Training;

/// Processes that may leave and join during a fit. After each execution, each of them keeps its state of the fit.
/// After a failure, those that are left return to the newest state that all of them have reached. It is a state of the
/// undisturbed fit, because a step ends only when its all-reduces have the summands of all processes.
class Membership {
 public:
  virtual ~Membership() = default;
  /// The callback that keeps the states of a fit.
  virtual std::shared_ptr<Callback> keeper() = 0;
  /// Whether this process was started while others train, and has not joined them.
  virtual bool late() const = 0;
  /// After a CollectiveError, or in a late process: forms the group of the processes that are left and of those that
  /// wait to join, and returns to the common state. Throws CollectiveError if that is not possible.
  virtual Task<> recover(Training& training) = 0;
  /// At the end of fit. Returns true when all processes have reached it, false if this one must recover().
  virtual bool finish() = 0;
};

}  // namespace etude
