#include "etude/training/callback_list.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

namespace etude {

CallbackList::CallbackList(std::vector<CallbackPtr> callbacks, Model& model, const CallbackParams& params,
                           bool& in_hook)
    : callbacks_(std::move(callbacks)), in_hook_(in_hook) {
  for (const CallbackPtr& callback : callbacks_) {
    check(callback != nullptr, ErrorKind::value, "callbacks",
          "an empty callback - expected objects of Callback's subclasses - "
          "take it out of the list.");
    callback->set_model(&model);
    callback->set_params(params);
  }
  std::ranges::stable_partition(callbacks_, [](const CallbackPtr& callback) { return !callback->runs_last(); });
}

}  // namespace etude
