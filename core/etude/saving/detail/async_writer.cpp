#include "etude/saving/detail/async_writer.hpp"

#include <utility>

#include "etude/base/detail/worker_thread.hpp"

namespace etude {

AsyncWriter::~AsyncWriter() { join(); }

void AsyncWriter::start(std::function<void()> work) {
  wait();
  auto guarded = [this, work = std::move(work)] {
    try {
      work();
    } catch (...) {
      error_ = std::current_exception();
    }
  };
#ifdef ETUDE_PREFETCH
  if (auto thread = started_thread(guarded, "writing checkpoints")) {
    thread_ = std::move(*thread);
    return;
  }
#endif
  guarded();
}

void AsyncWriter::wait() {
  join();
  if (error_) std::rethrow_exception(std::exchange(error_, {}));
}

void AsyncWriter::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace etude
