#include "etude/training/detail/loop_model.hpp"

#include "etude/base/error.hpp"

namespace etude {

OnThread::OnThread(LoopModel& model, const char* method) : kept_(model.keep_alive()), thread_(model.running.thread) {
  static thread_local const char thread = 0;
  const void* running = nullptr;
  begun_ = thread_.compare_exchange_strong(running, &thread);
  check(begun_ || running == &thread, ErrorKind::state, method,
        "another thread runs a loop of this model - expected one thread at a time, because all steps of a model share "
        "their memory - wait for it, or use another model with the same weights.");
}

}  // namespace etude
