#pragma once

#include <memory>

#include "etude/callbacks/detail/output.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct TerminateOnNaNOptions {
  /// Throws an Error instead of stopping fit.
  bool raise_error = false;
  /// The receiver of the message; stdout if empty.
  TextSink print = {};

  template <class O = TerminateOnNaNOptions> static constexpr auto fields() {
    return option_rows(option<&O::raise_error>("Whether fit raises an error instead of ending."));
  }
};

/// Stops fit when the loss is NaN or infinite (C-10). It reads the loss after every execution.
/// Source: keras/src/callbacks/terminate_on_nan.py.
class TerminateOnNaN : public Callback {
 public:
  using Options = TerminateOnNaNOptions;
  static constexpr ClassText about{.name = "TerminateOnNaN",
                                   .text = "Stops training at a loss that is NaN or infinite.",
                                   .factory = "terminate_on_nan"};
  explicit TerminateOnNaN(TerminateOnNaNOptions options = {}) : options_(std::move(options)) {}

  Needs needs(Hook hook) const override { return hook == Hook::train_batch_end ? Needs::logs : Needs::nothing; }
  /// Throws Error(value) instead of stopping, with raise_error.
  void on_train_batch_end(std::int64_t step, Logs& logs) override;

 private:
  TerminateOnNaNOptions options_;
};

namespace callbacks {

inline constexpr Factory<TerminateOnNaN> terminate_on_nan;

}  // namespace callbacks
}  // namespace etude
