#include "etude/callbacks/save_frequency.hpp"

#include "etude/base/error.hpp"

namespace etude {

SaveFrequency::SaveFrequency(const char* name) {
  check(std::string_view(name) == "epoch", ErrorKind::value, "callbacks", "save_freq = \"", name,
        "\" - expected \"epoch\" or a number of batches - pass one of these.");
}
SaveFrequency::SaveFrequency(std::int64_t batches) : batches_(batches) {
  check(batches >= 1, ErrorKind::value, "callbacks", "save_freq = ", batches,
        " - expected \"epoch\" or 1 or more batches - pass one of these.");
}

void SaveCounter::restart() {
  last_batch_ = -1;
  unsaved_ = 0;
}

bool SaveCounter::due(std::int64_t batch) {
  if (each_epoch()) return false;
  unsaved_ += batch > last_batch_ ? batch - last_batch_ : batch + 1;  // another epoch begins at 0
  last_batch_ = batch;
  if (unsaved_ < every_) return false;
  unsaved_ = 0;
  return true;
}

void SaveCounter::save(CallbackState& state) const {
  state.set("last_batch", static_cast<double>(last_batch_));
  state.set("unsaved_batches", static_cast<double>(unsaved_));
}

void SaveCounter::restore(const CallbackState& state) {
  last_batch_ = static_cast<std::int64_t>(state.number("last_batch"));
  unsaved_ = static_cast<std::int64_t>(state.number("unsaved_batches"));
}

}  // namespace etude
