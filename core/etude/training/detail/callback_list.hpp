#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "etude/training/callback.hpp"

namespace etude {

/// Calls every callback's hook in order: the user's callbacks, then History, then ProgbarLogger (C-12), then those with
/// runs_last().
///
///     co_await callbacks.run(Hook::train_batch_end, step, logs);
///
/// costs a plain call, without a coroutine, unless a callback has pending work.
class CallbackList {
 public:
  /// Starts to fetch the values that a hook reads. Empty where the host can read device memory at any time.
  using Fetch = std::function<PendingPtr(Needs)>;

  /// `in_hook` is true while a hook runs.
  CallbackList(std::vector<CallbackPtr> callbacks, Model& model, const CallbackParams& params, bool& in_hook,
               Fetch fetch = {});

  const std::vector<CallbackPtr>& callbacks() const { return callbacks_; }

  /// One hook of all callbacks, awaitable.
  class HookCall {
   public:
    HookCall(CallbackList& list, Hook hook, std::int64_t index, Logs& logs)
        : list_(list), hook_(hook), index_(index), logs_(logs) {}

    bool await_ready();
    void await_suspend(std::coroutine_handle<> parent) { rest_->await_suspend(parent); }
    void await_resume();

   private:
    bool suspends(Task<> task);
    PendingPtr call(std::size_t callback);
    Task<> rest(PendingPtr pending, std::size_t next);

    CallbackList& list_;
    Hook hook_;
    std::int64_t index_;
    Logs& logs_;
    std::optional<Task<>> rest_;
  };

  /// `index`: the epoch of Hook::epoch_begin and Hook::epoch_end, the step of hooks of an execution, such as
  /// Hook::train_batch_end.
  HookCall run(Hook hook, std::int64_t index, Logs& logs) { return {*this, hook, index, logs}; }
  /// A hook without an index, such as Hook::train_begin.
  HookCall run(Hook hook, Logs& logs) { return run(hook, 0, logs); }

 private:
  /// The most that any callback reads in a hook.
  Needs needs(Hook hook) const;

  std::vector<CallbackPtr> callbacks_;
  bool& in_hook_;
  Fetch fetch_;
};

}  // namespace etude
