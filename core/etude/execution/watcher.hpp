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
  /// Work begins: "data", "trace", "run", or the name of an all-reduce.
  virtual void begin(std::string_view name) = 0;
  /// The innermost work ends, which began at that time.
  virtual void end(std::string_view name, double began) = 0;
  /// The same for an all-reduce of the plan.
  virtual void end(const Plan& plan, const Instruction& all_reduce, double began) = 0;
  /// The work of an execution, or of an epoch, ends. Hooks of callbacks follow.
  virtual void hooks_follow() = 0;

  const bool runs_instructions;

  /// Adds the work during its lifetime to a watcher, if there is one.
  class Span {
   public:
    Span(Watcher* watcher, std::string_view name) : Span(watcher, name, nullptr, nullptr) {}
    /// The same for an all-reduce.
    Span(Watcher* watcher, const Plan& plan, const Instruction& all_reduce)
        : Span(watcher, name_of(all_reduce), &plan, &all_reduce) {}
    ~Span() {
      if (!watcher_) return;
      plan_ ? watcher_->end(*plan_, *all_reduce_, began_) : watcher_->end(name_, began_);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Span(Watcher* watcher, std::string_view name, const Plan* plan, const Instruction* all_reduce)
        : watcher_(watcher),
          name_(name),
          plan_(plan),
          all_reduce_(all_reduce),
          began_(watcher ? monotonic_seconds() : 0) {
      if (watcher) watcher->begin(name);
    }

    Watcher* const watcher_;
    const std::string_view name_;
    const Plan* const plan_;
    const Instruction* const all_reduce_;
    const double began_;
  };
};

}  // namespace etude
