#pragma once

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "etude/training/callback.hpp"

namespace etude {

/// Calls every callback's hook in order: the user's callbacks, then History, then ProgbarLogger (C-12), then those with
/// runs_last().
///
///     co_await callbacks.run(&Callback::on_train_batch_end, step, logs);
///
/// costs a plain call, without a coroutine, unless a callback has pending work.
class CallbackList {
 public:
  /// `in_hook` is true while a hook runs.
  CallbackList(std::vector<CallbackPtr> callbacks, Model& model, const CallbackParams& params, bool& in_hook);

  const std::vector<CallbackPtr>& callbacks() const { return callbacks_; }

  /// One hook of all callbacks, awaitable.
  template <class... Arguments> class Hook {
   public:
    using Method = void (Callback::*)(Arguments...);
    Hook(CallbackList& list, Method method, Arguments... arguments)
        : callbacks_(list.callbacks_), in_hook_(list.in_hook_), method_(method), arguments_(arguments...) {}

    bool await_ready() {
      in_hook_ = true;
      for (std::size_t i = 0; i < callbacks_.size(); ++i)
        if (PendingPtr pending = call(i)) {
          rest_.emplace(rest(std::move(pending), i + 1));
          return rest_->await_ready();
        }
      return true;
    }
    void await_suspend(std::coroutine_handle<> parent) { rest_->await_suspend(parent); }
    void await_resume() {
      in_hook_ = false;
      if (rest_) rest_->await_resume();
    }

   private:
    PendingPtr call(std::size_t index) {
      std::apply([&](auto&... arguments) { ((*callbacks_[index]).*method_)(arguments...); }, arguments_);
      return callbacks_[index]->take_pending();
    }
    Task<> rest(PendingPtr pending, std::size_t next) {
      co_await std::move(pending);
      for (; next < callbacks_.size(); ++next) co_await call(next);
    }

    std::vector<CallbackPtr>& callbacks_;
    bool& in_hook_;
    Method method_;
    std::tuple<Arguments...> arguments_;
    std::optional<Task<>> rest_;
  };

  Hook<Logs&> run(void (Callback::*hook)(Logs&), Logs& logs) { return {*this, hook, logs}; }
  Hook<int, Logs&> run(void (Callback::*hook)(int, Logs&), int epoch, Logs& logs) { return {*this, hook, epoch, logs}; }
  Hook<std::int64_t, Logs&> run(void (Callback::*hook)(std::int64_t, Logs&), std::int64_t step, Logs& logs) {
    return {*this, hook, step, logs};
  }

 private:
  std::vector<CallbackPtr> callbacks_;
  bool& in_hook_;
};

}  // namespace etude
