#include "etude/training/progbar_logger.hpp"

#include <string>

#include "etude/base/messages.hpp"

namespace etude {

void ProgbarLogger::write(std::string_view text) const { print_text(sink_, text); }

void ProgbarLogger::start(std::optional<std::int64_t> target) {
  ProgressBarOptions options;
  options.verbose = params().verbose;
  options.sink = sink_;
  options.colour = options.dynamic = !sink_ && stdout_is_terminal();
  bar_.emplace(target, options);
}

void ProgbarLogger::update(std::int64_t step, const Logs& logs) {
  if (bar_) bar_->update(step + 1, logs);
}

void ProgbarLogger::finish(const Logs& logs) {
  if (bar_) bar_->finish(logs);
  bar_.reset();
}

void ProgbarLogger::on_epoch_begin(int epoch, Logs&) {
  if (params().verbose && params().epochs > 1)
    write("Epoch " + std::to_string(epoch + 1) + '/' + std::to_string(params().epochs) + '\n');
  start(params().steps ? params().steps : seen_steps_);
}

void ProgbarLogger::on_epoch_end(int, Logs& logs) {
  if (bar_) seen_steps_ = bar_->current();
  finish(logs);
}

// Validation within fit is shown on the epoch's own line.
void ProgbarLogger::on_test_begin(Logs&) {
  if (!in_fit_) start(params().steps);
}
void ProgbarLogger::on_test_batch_end(std::int64_t step, Logs& logs) {
  if (!in_fit_) update(step, logs);
}
void ProgbarLogger::on_test_end(Logs& logs) {
  if (!in_fit_) finish(logs);
}

}  // namespace etude
