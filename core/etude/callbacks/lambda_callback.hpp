#pragma once

#include <cstddef>
#include <functional>

#include "etude/training/callback.hpp"

namespace etude {

/// The functions of a LambdaCallback; empty ones are not called.
struct LambdaCallbackOptions {
  /// Called when an epoch begins, or ends.
  std::function<void(int epoch, Logs&)> on_epoch_begin = {}, on_epoch_end = {};
  /// Called when fit begins, or ends.
  std::function<void(Logs&)> on_train_begin = {}, on_train_end = {};
  /// Called when an execution of training steps begins, or ends.
  std::function<void(std::int64_t step, Logs&)> on_train_batch_begin = {}, on_train_batch_end = {};
  /// Called when evaluate, or a validation, begins, or ends.
  std::function<void(Logs&)> on_test_begin = {}, on_test_end = {};
  /// Called when an execution of test steps begins, or ends.
  std::function<void(std::int64_t step, Logs&)> on_test_batch_begin = {}, on_test_batch_end = {};
  /// Called when predict begins, or ends.
  std::function<void(Logs&)> on_predict_begin = {}, on_predict_end = {};
  /// Called when an execution of predict steps begins, or ends.
  std::function<void(std::int64_t step, Logs&)> on_predict_batch_begin = {}, on_predict_batch_end = {};
};

/// Functions as a callback. Source: keras/src/callbacks/lambda_callback.py.
class LambdaCallback : public Callback {
 public:
  /// Moves the functions into the callback.
  explicit LambdaCallback(LambdaCallbackOptions options) : on_(std::move(options)) {}

  Needs needs(Hook hook) const override {
    const bool given[] = {static_cast<bool>(on_.on_train_begin),         static_cast<bool>(on_.on_train_end),
                          static_cast<bool>(on_.on_epoch_begin),         static_cast<bool>(on_.on_epoch_end),
                          static_cast<bool>(on_.on_train_batch_begin),   static_cast<bool>(on_.on_train_batch_end),
                          static_cast<bool>(on_.on_test_begin),          static_cast<bool>(on_.on_test_end),
                          static_cast<bool>(on_.on_test_batch_begin),    static_cast<bool>(on_.on_test_batch_end),
                          static_cast<bool>(on_.on_predict_begin),       static_cast<bool>(on_.on_predict_end),
                          static_cast<bool>(on_.on_predict_batch_begin), static_cast<bool>(on_.on_predict_batch_end)};
    return given[static_cast<std::size_t>(hook)] ? Needs::variables : Needs::nothing;
  }
  void on_epoch_begin(int epoch, Logs& logs) override { call(on_.on_epoch_begin, epoch, logs); }
  void on_epoch_end(int epoch, Logs& logs) override { call(on_.on_epoch_end, epoch, logs); }
  void on_train_begin(Logs& logs) override { call(on_.on_train_begin, logs); }
  void on_train_end(Logs& logs) override { call(on_.on_train_end, logs); }
  void on_train_batch_begin(std::int64_t step, Logs& logs) override { call(on_.on_train_batch_begin, step, logs); }
  void on_train_batch_end(std::int64_t step, Logs& logs) override { call(on_.on_train_batch_end, step, logs); }
  void on_test_begin(Logs& logs) override { call(on_.on_test_begin, logs); }
  void on_test_end(Logs& logs) override { call(on_.on_test_end, logs); }
  void on_test_batch_begin(std::int64_t step, Logs& logs) override { call(on_.on_test_batch_begin, step, logs); }
  void on_test_batch_end(std::int64_t step, Logs& logs) override { call(on_.on_test_batch_end, step, logs); }
  void on_predict_begin(Logs& logs) override { call(on_.on_predict_begin, logs); }
  void on_predict_end(Logs& logs) override { call(on_.on_predict_end, logs); }
  void on_predict_batch_begin(std::int64_t step, Logs& logs) override { call(on_.on_predict_batch_begin, step, logs); }
  void on_predict_batch_end(std::int64_t step, Logs& logs) override { call(on_.on_predict_batch_end, step, logs); }

 private:
  template <class... Arguments, class... Given> static void call(const std::function<void(Arguments...)>& function,
                                                                 Given&&... given) {
    if (function) function(given...);
  }
  LambdaCallbackOptions on_;
};

namespace callbacks {

/// Creates a LambdaCallback from functions.
inline CallbackPtr lambda(LambdaCallbackOptions options) {
  return std::make_shared<LambdaCallback>(std::move(options));
}

}  // namespace callbacks
}  // namespace etude
