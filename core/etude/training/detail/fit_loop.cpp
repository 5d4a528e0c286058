#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/detail/split.hpp"
#include "etude/distribute/detail/membership.hpp"
#include "etude/distribute/workers.hpp"
#include "etude/training/detail/remote_steps.hpp"
#include "etude/training/detail/training.hpp"
#include "etude/training/detail/training_loop.hpp"

namespace etude {

/// A running fit.
struct TrainingLoop::Fit {
  const FitOptions& options;
  DataHandler& data;
  const std::optional<Data>& validation;
  CallbackList& callbacks;
  Training& training;
  std::optional<DataHandler> validation_handler = {};  ///< after the first validation
  Logs logs = {};                                      ///< of the last epoch
};

Task<HistoryPtr> TrainingLoop::fit(Data data, FitOptions options) {
  model_.check_compiled("fit");
  give_turn_ = options.give_turn;
  check(options.epochs >= 0 && options.initial_epoch >= 0, ErrorKind::value, "fit", "epochs = ", options.epochs,
        ", initial_epoch = ", options.initial_epoch, " - expected numbers of 0 or more - change them.");
  std::optional<Data> validation;
  if (options.validation_data) validation = *options.validation_data;
  if (options.validation_split != 0 && !validation) {
    if (!data.is_arrays()) check_no_validation_split(options.validation_split);
    auto [first, last] = train_validation_split(data.arrays(), options.validation_split);
    data = std::move(first);
    validation = std::move(last);
  }
  const bool remote = model_.strategy().remote() != nullptr;
  if (remote) check_remote_fit(options);
  if (has_device_libraries) check_trains(model_.strategy(), "fit");
  const int verbose = options.verbose < 0 ? (remote ? 2 : 1) : options.verbose;
  const bool endless = options.steps_per_epoch == -1;
  AdapterOptions how = adapter_options(options.batch_size, endless ? std::nullopt : options.steps_per_epoch, options);
  how.rows.shuffle = options.shuffle.shuffle();
  DataHandlerOptions epochs;
  epochs.initial_epoch = options.initial_epoch;
  epochs.epochs = options.epochs;
  epochs.steps_per_epoch = options.steps_per_epoch;
  std::unique_ptr<DataAdapter> adapter = adapter_of(data, how, Purpose::training);
  if (!options.class_weight.empty())
    adapter = std::make_unique<ClassWeightAdapter>(std::move(adapter), options.class_weight);
  DataHandler handler = co_await make_handler(std::move(adapter), std::move(epochs));

  auto history = std::make_shared<History>();
  std::vector<CallbackPtr> list = options.callbacks;
  list.push_back(history);
  Workers* const workers = model_.strategy().others();
  Membership* const membership = workers ? workers->membership() : nullptr;
  if (membership) list.push_back(membership->keeper());
  CallbackList callbacks = list_of(std::move(list), {options.epochs, handler.inferred_steps(), verbose});
  model_.stop_training() = false;
  Training training(model_, handler, callbacks);
  training.step().select_on_devices(handler.adapter());
  if (remote) co_await training.prepare();

  for (const CallbackPtr& callback : callbacks.callbacks()) callback->acquire();
  co_await callbacks.run(Hook::train_begin, no_logs());
  Fit fit{options, handler, validation, callbacks, training};
  if (has_device_libraries && membership)
    co_await run_epochs(fit, *membership);
  else
    co_await run_epochs(fit);
  if (reads_later_) co_await fetch(Needs::variables);
  if (options.epochs > 0) model_.finish_training();
  co_await callbacks.run(Hook::train_end, fit.logs);
  if (reads_later_) co_await fetch(Needs::variables);  // the user may read them after fit
  co_return history;
}

Task<> TrainingLoop::run_epochs(Fit& fit) {
  Training& training = fit.training;
  Training::Resumed& resumed = training.resumed;
  Logs& logs = fit.logs;
  logs = resumed.logs;
  for (const int epoch : fit.data.enumerate_epochs()) {
    if (resumed.stopped && !resumed.within_epoch) break;
    model_.reset_metrics();
    co_await fit.callbacks.run(Hook::epoch_begin, epoch, no_logs());
    bool ran = false;
    if (!resumed.stopped)
      ran = co_await run_epoch(training.step(), fit.data, fit.callbacks, Hook::train_batch_begin, Hook::train_batch_end,
                               model_.stop_training());
    // Without a batch the data was exhausted before: the epoch ends with the logs of the last epoch, and fit ends.
    const bool ran_out = !ran && !resumed.within_epoch;
    if (reads_later_) co_await fetch(Needs::logs);
    if (ran) logs = logs_of(training.step());
    resumed = {};

    if (!ran_out && fit.validation && fit.options.validation_freq.due(epoch)) {
      const Logs results = co_await validate(fit);
      for (std::size_t i = 0; i < results.size(); ++i) logs.set("val_" + results.name(i), results.value(i));
    }
    if (Watcher* const watcher = training.step().watcher()) watcher->hooks_follow();
    co_await fit.callbacks.run(Hook::epoch_end, epoch, logs);
    if (PendingPtr others = turn(true)) co_await std::move(others);
    if (model_.stop_training() || ran_out) break;
  }
}

Task<Logs> TrainingLoop::validate(Fit& fit) {
  if (!fit.validation_handler) {
    const FitOptions& options = fit.options;
    const auto batch_size = options.validation_batch_size || !fit.validation->has_rows() ? options.validation_batch_size
                                                                                         : options.batch_size;
    fit.validation_handler.emplace(co_await make_handler(
        *fit.validation, adapter_options(batch_size, options.validation_steps, options), Purpose::validation));
    fit.training.set_validation(*fit.validation_handler);
    model_.test_function()->select_on_devices(fit.validation_handler->adapter());
  }
  co_return co_await run_validation(*fit.validation_handler, fit.callbacks);
}

Task<> TrainingLoop::run_epochs(Fit& fit, Membership& membership) {
  for (bool recovers = membership.late();;) {
    if (recovers) {
      in_hook_ = false;  // the failure may have come from a hook
      co_await membership.recover(fit.training);
      fit.validation_handler.reset();
    }
    recovers = false;
    try {
      co_await run_epochs(fit);
      recovers = !membership.finish();
    } catch (const CollectiveError&) {
      recovers = true;
    }
    if (!recovers) co_return;
  }
}

}  // namespace etude
