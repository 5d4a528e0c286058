#include "etude/saving/detail/checkpoint_writes.hpp"

#include <atomic>
#include <exception>

#include "etude/base/detail/clock.hpp"

namespace etude {
namespace {

std::atomic<std::int64_t> count = 0, nanoseconds = 0;

}  // namespace

CheckpointWrites checkpoint_writes() { return {count, static_cast<double>(nanoseconds) * 1e-6}; }

CheckpointWriteTimer::CheckpointWriteTimer() : began_(monotonic_seconds()), exceptions_(std::uncaught_exceptions()) {}

CheckpointWriteTimer::~CheckpointWriteTimer() {
  if (std::uncaught_exceptions() > exceptions_) return;
  ++count;
  nanoseconds += static_cast<std::int64_t>((monotonic_seconds() - began_) * 1e9);
}

}  // namespace etude
