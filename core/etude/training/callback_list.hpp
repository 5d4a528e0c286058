#pragma once

#include <functional>
#include <optional>
#include <tuple>
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
  /// Fetches what a hook reads. Empty where the host can read device memory at any time.
  using Fetch = std::function<Task<>(Needs)>;

  /// `in_hook` is true while a hook runs.
  CallbackList(std::vector<CallbackPtr> callbacks, Model& model, const CallbackParams& params, bool& in_hook,
               Fetch fetch = {});

  const std::vector<CallbackPtr>& callbacks() const { return callbacks_; }

  /// One hook of all callbacks, awaitable.
  template <class... Arguments> class HookCall {
   public:
    using Method = void (Callback::*)(Arguments...);
    HookCall(CallbackList& list, Hook hook, Method method, Arguments... arguments)
        : list_(list), hook_(hook), method_(method), arguments_(arguments...) {}

    bool await_ready() {
      if (list_.fetch_) return suspends(fetch_and_call());
      list_.in_hook_ = true;
      for (std::size_t i = 0; i < list_.callbacks_.size(); ++i)
        if (PendingPtr pending = call(i)) return suspends(rest(std::move(pending), i + 1));
      return true;
    }
    void await_suspend(std::coroutine_handle<> parent) { rest_->await_suspend(parent); }
    void await_resume() {
      list_.in_hook_ = false;
      if (rest_) rest_->await_resume();
    }

   private:
    bool suspends(Task<> task) {
      rest_.emplace(std::move(task));
      return rest_->await_ready();
    }
    PendingPtr call(std::size_t index) {
      Callback& callback = *list_.callbacks_[index];
      std::apply([&](auto&... arguments) { (callback.*method_)(arguments...); }, arguments_);
      return callback.take_pending();
    }
    Task<> rest(PendingPtr pending, std::size_t next) {
      co_await std::move(pending);
      for (; next < list_.callbacks_.size(); ++next) co_await call(next);
    }
    Task<> fetch_and_call() {
      co_await list_.fetch_(list_.needs(hook_));
      list_.in_hook_ = true;
      co_await rest(nullptr, 0);
    }

    CallbackList& list_;
    Hook hook_;
    Method method_;
    std::tuple<Arguments...> arguments_;
    std::optional<Task<>> rest_;
  };

  /// A hook without an index, such as Hook::train_begin.
  HookCall<Logs&> run(Hook hook, Logs& logs);
  /// Hook::epoch_begin and Hook::epoch_end.
  HookCall<int, Logs&> run(Hook hook, int epoch, Logs& logs);
  /// A hook of an execution, such as Hook::train_batch_end.
  HookCall<std::int64_t, Logs&> run(Hook hook, std::int64_t step, Logs& logs);

 private:
  /// The most that a callback reads in a hook.
  Needs needs(Hook hook) const;

  std::vector<CallbackPtr> callbacks_;
  bool& in_hook_;
  Fetch fetch_;
};

}  // namespace etude
