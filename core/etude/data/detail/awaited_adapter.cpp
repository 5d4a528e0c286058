#include "etude/data/detail/awaited_adapter.hpp"

#include <utility>

namespace etude {

PendingPtr AwaitedAdapter::fetch() { return ready_ || ended_ ? nullptr : started(make()); }

Task<> AwaitedAdapter::make() {
  try {
    std::optional<Batch> batch = co_await next();
    if (batch) structure_.admit(*batch, where_);
    ended_ = !batch;
    ready_ = std::move(batch);
  } catch (...) {
    error_ = std::current_exception();
    ended_ = true;
  }
}

const Batch* AwaitedAdapter::peek() {
  if (!ready_ && !ended_) make().get();
  if (error_) std::rethrow_exception(std::exchange(error_, {}));
  return ready_ ? &*ready_ : nullptr;
}

const Batch* AwaitedAdapter::consume() {
  if (!peek()) return nullptr;
  consumed_ = std::exchange(ready_, {});
  ++count_;
  return &*consumed_;
}

void AwaitedAdapter::rewind(std::int64_t consumed) {
  ready_ = {};
  error_ = {};
  ended_ = false;
  count_ = consumed;
}

}  // namespace etude
