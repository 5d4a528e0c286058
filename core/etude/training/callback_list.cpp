#include "etude/training/callback_list.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

namespace etude {

CallbackList::CallbackList(std::vector<CallbackPtr> callbacks, Model& model, const CallbackParams& params,
                           bool& in_hook, Fetch fetch)
    : callbacks_(std::move(callbacks)), in_hook_(in_hook), fetch_(std::move(fetch)) {
  for (const CallbackPtr& callback : callbacks_) {
    check(callback != nullptr, ErrorKind::value, "callbacks",
          "an empty callback - expected objects of Callback's subclasses - "
          "take it out of the list.");
    callback->set_model(&model);
    callback->set_params(params);
  }
  std::ranges::stable_partition(callbacks_, [](const CallbackPtr& callback) { return !callback->runs_last(); });
}

CallbackList::HookCall<Logs&> CallbackList::run(Hook hook, Logs& logs) {
  const auto method = hook == Hook::train_begin     ? &Callback::on_train_begin
                      : hook == Hook::train_end     ? &Callback::on_train_end
                      : hook == Hook::test_begin    ? &Callback::on_test_begin
                      : hook == Hook::test_end      ? &Callback::on_test_end
                      : hook == Hook::predict_begin ? &Callback::on_predict_begin
                                                    : &Callback::on_predict_end;
  return {*this, hook, method, logs};
}

CallbackList::HookCall<int, Logs&> CallbackList::run(Hook hook, int epoch, Logs& logs) {
  const auto method = hook == Hook::epoch_begin ? &Callback::on_epoch_begin : &Callback::on_epoch_end;
  return {*this, hook, method, epoch, logs};
}

CallbackList::HookCall<std::int64_t, Logs&> CallbackList::run(Hook hook, std::int64_t step, Logs& logs) {
  const auto method = hook == Hook::train_batch_begin     ? &Callback::on_train_batch_begin
                      : hook == Hook::train_batch_end     ? &Callback::on_train_batch_end
                      : hook == Hook::test_batch_begin    ? &Callback::on_test_batch_begin
                      : hook == Hook::test_batch_end      ? &Callback::on_test_batch_end
                      : hook == Hook::predict_batch_begin ? &Callback::on_predict_batch_begin
                                                          : &Callback::on_predict_batch_end;
  return {*this, hook, method, step, logs};
}

Needs CallbackList::needs(Hook hook) const {
  Needs most = Needs::nothing;
  for (const CallbackPtr& callback : callbacks_) most = std::max(most, callback->needs(hook));
  return most;
}

}  // namespace etude
