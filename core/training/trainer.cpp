#include "etude/training/trainer.hpp"

#include <cstring>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/split.hpp"
#include "etude/training/progbar_logger.hpp"

namespace etude {
namespace {

/// The values of logs, fetched now, as logs of their own: another plan may run before they are read.
Logs fetched(const Logs& logs) {
  Logs result;
  for (const auto& [name, value] : logs.values()) result.set(name, value);
  return result;
}

std::vector<CallbackPtr> with_progress_bar(std::vector<CallbackPtr> callbacks, int verbose) {
  if (verbose) callbacks.push_back(std::make_shared<ProgbarLogger>());
  return callbacks;
}

/// Joins outputs along axis 0. Where the rows are known beforehand there is one tensor from the start.
class Outputs {
 public:
  explicit Outputs(std::optional<std::int64_t> rows) : rows_(rows) {}

  void add(const StepFunction& function) {
    Shape shape = function.output_shape(0);
    const std::int64_t rows = shape.rank() ? shape[0] : 1;
    if (rows_ && shape.rank()) {
      if (!joined_) {
        shape[0] = *rows_;
        joined_ = Tensor(shape, function.output_dtype(0));
      }
      if (filled_ + rows <= *rows_) {
        Tensor target = joined_.rows(filled_, filled_ + rows);
        function.read_output(0, target.raw());
      }
    } else {
      parts_.emplace_back(shape, function.output_dtype(0));
      function.read_output(0, parts_.back().raw());
    }
    filled_ += rows;
  }

  Tensor join() {
    if (joined_) return filled_ < *rows_ ? joined_.rows(0, filled_).clone() : joined_;
    check(!parts_.empty(), ErrorKind::data, "predict", "Unexpected result of `predict_function` (Empty batch_outputs) - expected at least one batch - "
          "check the data.");
    Shape shape = parts_.front().shape();
    shape[0] = filled_;
    Tensor result(shape, parts_.front().dtype());
    std::byte* out = result.raw();
    for (const Tensor& part : parts_) {
      std::memcpy(out, part.raw(), part.bytes());
      out += part.bytes();
    }
    return result;
  }

 private:
  std::optional<std::int64_t> rows_;
  std::int64_t filled_ = 0;
  Tensor joined_;
  std::vector<Tensor> parts_;
};

}  // namespace

Trainer::Trainer(Model& model, const char* method) : model_(model) {
  check(!Graph::tracing(), ErrorKind::state, method, "called within a step - expected it outside - a step says what one batch means; loop around the model, "
        "not inside it.");
  check(!model.looping_, ErrorKind::state, method, "Cannot start because another fit(), evaluate() or predict() of this model is ongoing - expected one at a "
        "time - await it first.");
  model.looping_ = true;
}

Trainer::~Trainer() { model_.looping_ = false; }

DataHandler Trainer::make_handler(const Data& data, const TensorLikeOptions& arrays, DataHandlerOptions options) {
  DataHandler handler(data.adapter(arrays), std::move(options));
  if (!model_.built())
    if (const Batch* example = handler.adapter().peek()) model_.build_from(*example);
  return handler;
}

Task<HistoryPtr> Trainer::fit(Data data, FitOptions options) {
  check(model_.compiled(), ErrorKind::state, "fit", "the model is not compiled - expected compile() before fit() - call model.compile({.loss = …}).");
  check(options.epochs >= 0 && options.initial_epoch >= 0, ErrorKind::value, "fit", "epochs = ", options.epochs, ", initial_epoch = ",
        options.initial_epoch, " - expected numbers of 0 or more - check them.");
  std::optional<Data> validation = options.validation_data;
  if (options.validation_split != 0 && !validation) {
    if (!data.is_arrays()) check_no_validation_split(options.validation_split);
    auto [first, last] = train_validation_split(data.arrays(), options.validation_split);
    data = std::move(first);
    validation = std::move(last);
  }
  const int verbose = options.verbose < 0 ? 1 : options.verbose;
  const std::int64_t per_execution = model_.compile_options().steps_per_execution;
  DataHandler handler = make_handler(
      data, {.batch_size = options.batch_size, .steps = options.steps_per_epoch, .shuffle = options.shuffle.shuffle(), .seed = random_seed()},
      {.initial_epoch = options.initial_epoch, .epochs = options.epochs, .steps_per_epoch = options.steps_per_epoch,
       .steps_per_execution = per_execution, .warn = {}});

  auto history = std::make_shared<History>();
  std::vector<CallbackPtr> list = options.callbacks;
  list.push_back(history);
  CallbackList callbacks(with_progress_bar(std::move(list), verbose), model_, {options.epochs, handler.inferred_steps(), verbose});
  model_.stop_training = false;
  const auto train_function = model_.make_train_function();
  std::optional<DataHandler> validation_handler;
  Logs logs;

  co_await callbacks.run(&Callback::on_train_begin, none_);
  for (const int epoch : handler.enumerate_epochs()) {
    model_.reset_metrics();
    co_await callbacks.run(&Callback::on_epoch_begin, epoch, none_);
    co_await run_steps(*train_function, handler, callbacks, &Callback::on_train_batch_begin, &Callback::on_train_batch_end);
    logs = fetched(train_function->logs());

    if (validation && options.validation_freq.due(epoch)) {
      if (!validation_handler)
        validation_handler.emplace(make_handler(*validation,
                                                {.batch_size = validation->is_arrays() && options.validation_batch_size ? options.validation_batch_size
                                                               : validation->is_arrays()                                ? options.batch_size
                                                                                                                        : std::nullopt,
                                                 .steps = options.validation_steps},
                                                {.steps_per_epoch = options.validation_steps, .steps_per_execution = per_execution, .warn = {}}));
      const Logs results = co_await run_validation(*validation_handler, callbacks);
      for (std::size_t i = 0; i < results.size(); ++i) logs.set("val_" + results.name(i), results.value(i));
    }
    co_await callbacks.run(&Callback::on_epoch_end, epoch, logs);
    if (model_.stop_training) break;
  }
  co_await callbacks.run(&Callback::on_train_end, logs);
  co_return history;
}

Task<> Trainer::run_steps(StepFunction& function, DataHandler& data, CallbackList& callbacks, BatchHook begin, BatchHook end,
                          std::function<void()> after_step) {
  for (const std::int64_t step : data.steps()) {
    co_await callbacks.run(begin, step, none_);
    for (std::int64_t i = 0; i <= data.step_increment(); ++i) {
      if (PendingPtr pending = data.fetch()) co_await std::move(pending);
      const Batch* batch = data.take();
      if (!batch) {
        data.stop_iteration();
        break;
      }
      function(*batch);
      if (after_step) after_step();
    }
    if (data.step_increment() < 0) break;
    co_await callbacks.run(end, step + data.step_increment(), function.logs());
    if (host_yield())
      if (PendingPtr turn = host_yield()()) co_await std::move(turn);
    if (model_.stop_training) break;
  }
}

Task<Logs> Trainer::run_validation(DataHandler& data, CallbackList& callbacks) {
  const auto test_function = model_.make_test_function();
  model_.reset_metrics();
  co_await callbacks.run(&Callback::on_test_begin, none_);
  // A callback may have asked fit to stop after this epoch; the validation still runs to its end (L-4).
  const bool stop = std::exchange(model_.stop_training, false);
  for ([[maybe_unused]] const int epoch : data.enumerate_epochs())
    co_await run_steps(*test_function, data, callbacks, &Callback::on_test_batch_begin, &Callback::on_test_batch_end);
  model_.stop_training |= stop;
  Logs logs = fetched(test_function->logs());
  co_await callbacks.run(&Callback::on_test_end, logs);
  co_return logs;
}

Task<Logs> Trainer::evaluate(Data data, EvaluateOptions options) {
  check(model_.compiled(), ErrorKind::state, "evaluate", "the model is not compiled - expected compile() before evaluate() - call model.compile({.loss = …}).");
  DataHandler handler = make_handler(data, {.batch_size = options.batch_size, .steps = options.steps},
                                     {.steps_per_epoch = options.steps, .steps_per_execution = model_.compile_options().steps_per_execution, .warn = {}});
  const int verbose = options.verbose < 0 ? 1 : options.verbose;
  CallbackList callbacks(with_progress_bar(options.callbacks, verbose), model_, {1, handler.inferred_steps(), verbose});
  model_.stop_training = false;
  co_return co_await run_validation(handler, callbacks);
}

Task<Tensor> Trainer::predict(Data x, PredictOptions options) {
  DataHandler handler = make_handler(x, {.batch_size = options.batch_size, .steps = options.steps},
                                     {.steps_per_epoch = options.steps, .steps_per_execution = model_.compile_options().steps_per_execution, .warn = {}});
  const int verbose = options.verbose < 0 ? 1 : options.verbose;
  CallbackList callbacks(with_progress_bar(options.callbacks, verbose), model_, {1, handler.inferred_steps(), verbose});
  const auto predict_function = model_.make_predict_function();
  Outputs outputs(x.is_arrays() ? std::optional(x.arrays().size()) : std::nullopt);
  model_.stop_training = false;
  co_await callbacks.run(&Callback::on_predict_begin, none_);
  for ([[maybe_unused]] const int epoch : handler.enumerate_epochs())
    co_await run_steps(*predict_function, handler, callbacks, &Callback::on_predict_batch_begin, &Callback::on_predict_batch_end,
                       [&] { outputs.add(*predict_function); });
  co_await callbacks.run(&Callback::on_predict_end, none_);
  co_return outputs.join();
}

}  // namespace etude
