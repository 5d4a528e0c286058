#pragma once

#include "etude/base/error.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// Marks, while it exists, that a loop of a model runs on this thread. Loops on the same thread may be nested. Throws
/// Error(state) while a loop of the model runs on another thread.
class Model::OnThread {
 public:
  OnThread(Model& model, const char* method) : model_(model) {
    static thread_local const char thread = 0;
    const void* running = nullptr;
    begun_ = model.thread_.compare_exchange_strong(running, &thread);
    check(begun_ || running == &thread, ErrorKind::state, method,
          "another thread runs a loop of this model - expected one thread at a time, for all steps of a model share "
          "their memory - wait for it, or give this thread a model of its own with the same weights.");
  }
  ~OnThread() {
    if (begun_) model_.thread_ = nullptr;
  }
  OnThread(const OnThread&) = delete;
  OnThread& operator=(const OnThread&) = delete;

 private:
  Model& model_;
  bool begun_;
};

}  // namespace etude
