#include "etude/callbacks/terminate_on_nan.hpp"

#include <cmath>

#include "etude/base/error.hpp"
#include "etude/training/model.hpp"

namespace etude {

void TerminateOnNaN::on_train_batch_end(std::int64_t step, Logs& logs) {
  if (!logs.contains("loss")) return;
  const double loss = logs["loss"];
  if (std::isfinite(loss)) return;
  check(!options_.raise_error, ErrorKind::value, "TerminateOnNaN", "loss = ", loss, " at batch ", step,
        " - expected a finite number - lower the learning rate, or search the data for such numbers.");
  print_message(options_.print, "Batch " + std::to_string(step) + ": Invalid loss, terminating training");
  model().stop_training = true;
}

}  // namespace etude
