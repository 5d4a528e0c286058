#include "etude/training/detail/callback_list.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

namespace etude {

CallbackList::CallbackList(std::vector<CallbackPtr> callbacks, Model& model, const CallbackParams& params,
                           bool& in_hook, Fetch fetch)
    : callbacks_(std::move(callbacks)), in_hook_(in_hook), fetch_(std::move(fetch)) {
  for (const CallbackPtr& callback : callbacks_) {
    check(callback != nullptr, ErrorKind::value, "callbacks",
          "an empty callback - expected objects of Callback's subclasses - "
          "remove it from the list.");
    callback->set_model(&model);
    callback->set_params(params);
  }
  std::ranges::stable_partition(callbacks_, [](const CallbackPtr& callback) { return !callback->runs_last(); });
}

bool CallbackList::HookCall::await_ready() {
  if (list_.fetch_)
    if (PendingPtr reads = list_.fetch_(list_.needs(hook_))) return suspends(rest(std::move(reads), 0));
  list_.in_hook_ = true;
  for (std::size_t i = 0; i < list_.callbacks_.size(); ++i)
    if (PendingPtr pending = call(i)) return suspends(rest(std::move(pending), i + 1));
  return true;
}

void CallbackList::HookCall::await_resume() {
  list_.in_hook_ = false;
  if (rest_) rest_->await_resume();
}

bool CallbackList::HookCall::suspends(Task<> task) {
  rest_.emplace(std::move(task));
  return rest_->await_ready();
}

PendingPtr CallbackList::HookCall::call(std::size_t index) {
  Callback& callback = *list_.callbacks_[index];
  switch (hook_) {
    case Hook::train_begin: callback.on_train_begin(logs_); break;
    case Hook::train_end: callback.on_train_end(logs_); break;
    case Hook::epoch_begin: callback.on_epoch_begin(static_cast<int>(index_), logs_); break;
    case Hook::epoch_end: callback.on_epoch_end(static_cast<int>(index_), logs_); break;
    case Hook::train_batch_begin: callback.on_train_batch_begin(index_, logs_); break;
    case Hook::train_batch_end: callback.on_train_batch_end(index_, logs_); break;
    case Hook::test_begin: callback.on_test_begin(logs_); break;
    case Hook::test_end: callback.on_test_end(logs_); break;
    case Hook::test_batch_begin: callback.on_test_batch_begin(index_, logs_); break;
    case Hook::test_batch_end: callback.on_test_batch_end(index_, logs_); break;
    case Hook::predict_begin: callback.on_predict_begin(logs_); break;
    case Hook::predict_end: callback.on_predict_end(logs_); break;
    case Hook::predict_batch_begin: callback.on_predict_batch_begin(index_, logs_); break;
    case Hook::predict_batch_end: callback.on_predict_batch_end(index_, logs_); break;
  }
  return callback.take_pending();
}

Task<> CallbackList::HookCall::rest(PendingPtr pending, std::size_t next) {
  co_await std::move(pending);
  list_.in_hook_ = true;
  for (; next < list_.callbacks_.size(); ++next) co_await call(next);
}

Needs CallbackList::needs(Hook hook) const {
  Needs most = Needs::nothing;
  for (const CallbackPtr& callback : callbacks_) most = std::max(most, callback->needs(hook));
  return most;
}

}  // namespace etude
