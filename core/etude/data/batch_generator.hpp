#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "etude/data/batch.hpp"

namespace etude {

/// The return type of coroutines that yield batches. fit, evaluate and predict accept it like a Generator, as data of a
/// single pass:
///
///     BatchGenerator batches(Reader& reader) {
///       while (const auto row = reader.next()) co_yield {{row->image}, {row->label}};
///     }
///     model.fit(batches(reader));
///
/// A request for a batch resumes the coroutine up to its next co_yield; it awaits nothing. The request throws the
/// coroutine's exceptions. Copies share the coroutine. It is destroyed with the last copy, finished or not.
class BatchGenerator {
 public:
  struct promise_type {
    std::optional<Batch> batch;
    std::exception_ptr error;

    BatchGenerator get_return_object() { return BatchGenerator(*this); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(Batch next) {
      batch = std::move(next);
      return {};
    }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
    void await_transform() = delete;
  };

  /// The next batch; empty after the coroutine has ended. Throws the coroutine's exceptions.
  std::optional<Batch> operator()() {
    const Handle handle = Handle::from_promise(*promise_);
    if (handle.done()) return {};
    promise_->batch.reset();
    handle.resume();
    if (promise_->error) std::rethrow_exception(std::exchange(promise_->error, nullptr));
    return std::move(promise_->batch);
  }

 private:
  using Handle = std::coroutine_handle<promise_type>;

  explicit BatchGenerator(promise_type& promise)
      : promise_(&promise, [](promise_type* ended) { Handle::from_promise(*ended).destroy(); }) {}

  std::shared_ptr<promise_type> promise_;
};

}  // namespace etude
