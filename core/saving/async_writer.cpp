#include "etude/saving/async_writer.hpp"

#include <system_error>
#include <utility>

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
  try {
    thread_ = std::thread(guarded);
    return;
  } catch (const std::system_error&) {
    // The system has no more threads.
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
