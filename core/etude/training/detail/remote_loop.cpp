#include "etude/base/error.hpp"
#include "etude/training/detail/remote_steps.hpp"
#include "etude/training/detail/training_loop.hpp"

// The epochs of loops whose steps other processes compute.

namespace etude {

Task<bool> TrainingLoop::run_epoch(StepFunction& function, DataHandler& data, CallbackList& callbacks, Hook begin,
                                   Hook end, const bool& stop) {
  remote_logs_.reset();
  if (has_device_libraries)
    if (auto* const remote = dynamic_cast<RemoteAdapter*>(&data.adapter()))
      return run_remotely(*remote, function, data, callbacks, begin, end);
  return run_steps(function, data, callbacks, begin, end, stop);
}

Task<bool> TrainingLoop::run_remotely(RemoteAdapter& remote, StepFunction& function, DataHandler& data,
                                      CallbackList& callbacks, Hook begin, Hook end) {
  check(!function.replaced(), ErrorKind::value, "ParameterServerStrategy",
        "a function of replace_execution() - expected none, since workers run the steps - override train_step() or "
        "test_step() instead.");
  if (!function.traced()) {  // its variables must exist
    if (PendingPtr pending = remote.fetch()) co_await std::move(pending);
    if (const Batch* example = remote.peek()) function.rehearse(*example);
  }
  bool ran = false;
  for (const std::int64_t step : data.steps()) {
    const std::int64_t last = step + data.step_increment();
    co_await callbacks.run(begin, step, no_logs());
    keep_or_check_claim();
    remote_logs_ = remote.run(model_.model(), data.purpose(), last + 1 - step);
    for (std::int64_t i = step; i <= last; ++i) data.consume();
    co_await callbacks.run(end, last, *remote_logs_);
    if (PendingPtr others = turn(false)) co_await std::move(others);
    ran = true;
  }
  co_return ran;
}

Logs TrainingLoop::logs_of(StepFunction& function) const {
  return remote_logs_ ? *remote_logs_ : fetched(function.logs());
}

}  // namespace etude
