#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "etude/training/callback.hpp"
#include "etude/training/detail/progress_bar.hpp"

namespace etude {

/// Prints Keras's progress line for fit, evaluate and predict. Logs are read from the device only when it draws.
/// Source: keras/src/callbacks/progbar_logger.py.
class ProgbarLogger : public Callback {
 public:
  /// Text goes to `sink`, or stdout.
  explicit ProgbarLogger(std::function<void(std::string_view)> sink = {}) : sink_(std::move(sink)) {}

  Needs needs(Hook hook) const override {
    return hook == Hook::train_batch_end || hook == Hook::test_batch_end ? Needs::logs : Needs::nothing;
  }
  bool needs_each_execution() const override { return false; }
  void on_train_begin(Logs&) override { in_fit_ = true; }
  void on_train_end(Logs&) override { in_fit_ = false; }
  void on_epoch_begin(int epoch, Logs&) override;
  void on_train_batch_end(std::int64_t step, Logs& logs) override { update(step, logs); }
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_test_begin(Logs&) override;
  void on_test_batch_end(std::int64_t step, Logs& logs) override;
  void on_test_end(Logs& logs) override;
  void on_predict_begin(Logs&) override { start(params().steps); }
  void on_predict_batch_end(std::int64_t step, Logs&) override { update(step, empty_); }
  void on_predict_end(Logs&) override { finish(empty_); }

 private:
  void start(std::optional<std::int64_t> target);
  void update(std::int64_t step, const Logs& logs);
  void finish(const Logs& logs);
  void write(std::string_view text) const;

  std::function<void(std::string_view)> sink_;
  std::optional<ProgressBar> bar_;
  std::optional<std::int64_t> seen_steps_;
  bool in_fit_ = false;
  Logs empty_;
};

}  // namespace etude
