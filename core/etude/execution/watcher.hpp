#pragma once

#include <span>
#include <string_view>

#include "etude/base/detail/clock.hpp"
#include "etude/execution/instruction.hpp"

namespace etude {

class Plan;

/// Times the work of one replica, for a profiler: Arena::watcher. Times are those of monotonic_seconds().
class Watcher {
 public:
  /// With `runs` the plans give it their instructions, else only the time of a whole run. A device cannot
  /// record instructions that a watcher runs.
  explicit Watcher(bool runs) : runs_instructions(runs) {}
  virtual ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Runs instructions of the plan, in order, on its device. The same bits result.
  virtual void run(const Plan& plan, std::span<const Instruction> instructions) = 0;
  /// An all-reduce of the plan, which began at that time and ends now.
  virtual void add(const Plan& plan, const Instruction& all_reduce, double began) = 0;
  /// Other work, which began at that time and ends now: "data", "trace" and "run" are the names.
  virtual void add(std::string_view name, double began) = 0;
  /// The work of an execution, or of an epoch, ends. Hooks of callbacks follow.
  virtual void hooks_follow() = 0;

  const bool runs_instructions;

  /// Adds the work during its lifetime to a watcher, if there is one.
  class Span {
   public:
    Span(Watcher* watcher, std::string_view name)
        : watcher_(watcher), name_(name), began_(watcher ? monotonic_seconds() : 0) {}
    ~Span() {
      if (watcher_) watcher_->add(name_, began_);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Watcher* const watcher_;
    const std::string_view name_;
    const double began_;
  };
};

}  // namespace etude
