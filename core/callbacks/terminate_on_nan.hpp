#pragma once

#include <memory>

#include "etude/callbacks/output.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct TerminateOnNaNOptions {
  /// Throws instead of stopping fit in good order.
  bool raise_error = false;
  /// Where the message goes; stdout if empty.
  TextSink print = {};

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("raise_error", self.raise_error);
  }
};

/// Stops fit when the loss is not a number any more, or infinite (C-10). It reads the loss after every execution.
/// Source: keras/src/callbacks/terminate_on_nan.py.
class TerminateOnNaN : public Callback {
 public:
  explicit TerminateOnNaN(TerminateOnNaNOptions options = {}) : options_(std::move(options)) {}

  /// Throws Error(value) in place of stopping if raise_error.
  void on_train_batch_end(std::int64_t step, Logs& logs) override;

 private:
  TerminateOnNaNOptions options_;
};

namespace callbacks {

inline std::shared_ptr<TerminateOnNaN> terminate_on_nan(TerminateOnNaNOptions options = {}) {
  return std::make_shared<TerminateOnNaN>(std::move(options));
}

}  // namespace callbacks
}  // namespace etude
