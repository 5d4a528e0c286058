#include "etude/base/detail/release.hpp"

#include <new>
#include <utility>
#include <vector>

namespace etude {
namespace {

/// The references that the outermost release() on this thread still has to release.
thread_local std::vector<std::shared_ptr<const void>>* waiting = nullptr;

}  // namespace

void release(std::shared_ptr<const void> object) noexcept {
  if (object.use_count() != 1) return;  // another reference exists, or the pointer is null
  if (waiting) {
    try {
      waiting->push_back(std::move(object));
    } catch (const std::bad_alloc&) {
      // The object is destroyed here instead.
    }
    return;
  }
  std::vector<std::shared_ptr<const void>> rest;
  waiting = &rest;
  object.reset();
  while (!rest.empty()) {
    const std::shared_ptr<const void> next = std::move(rest.back());
    rest.pop_back();
  }
  waiting = nullptr;
}

}  // namespace etude
