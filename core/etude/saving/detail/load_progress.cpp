#include "etude/saving/detail/load_progress.hpp"

#include <utility>

namespace etude {
namespace {

thread_local const LoadProgress* current = nullptr;

}  // namespace

ProgressScope::ProgressScope(const LoadProgress& progress) { current = progress ? &progress : nullptr; }
ProgressScope::~ProgressScope() { current = nullptr; }

ReadCount::ReadCount(std::uint64_t all) : progress_(std::exchange(current, nullptr)), all_(all) {}

void ReadCount::add(std::uint64_t bytes) {
  done_ += bytes;
  if (progress_) (*progress_)(done_, all_);
}

}  // namespace etude
