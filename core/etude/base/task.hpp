#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {

/// A pending result: a callback's promise, the next batch of an asynchronous generator. Core awaits it, independent of
/// the kind of event loop that resumes it.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Whether the result is available.
  virtual bool ready() const = 0;
  /// Calls `resume` once, later, from the event loop.
  virtual void on_ready(std::coroutine_handle<> resume) = 0;
  /// Throws the error, if there was one.
  virtual void rethrow() = 0;
};

/// A Pending, or null if the result is available already.
using PendingPtr = std::unique_ptr<Pending>;

/// Awaits a PendingPtr; an empty one is ready.
struct PendingAwaiter {
  PendingPtr pending;
  bool await_ready() const { return !pending || pending->ready(); }
  void await_suspend(std::coroutine_handle<> self) { pending->on_ready(self); }
  void await_resume() {
    if (pending) pending->rethrow();
  }
};

template <class T> class Task;

namespace detail {

/// The common part of promises: the coroutine that awaits this one, and the error that ended it.
struct TaskPromise {
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr error;

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class P> std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) noexcept {
      return self.promise().continuation;
    }
    void await_resume() noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() { error = std::current_exception(); }
  PendingAwaiter await_transform(PendingPtr pending) { return {std::move(pending)}; }
  template <class Awaitable> Awaitable&& await_transform(Awaitable&& awaitable) {
    return std::forward<Awaitable>(awaitable);
  }
};

template <class T> struct TaskResult : TaskPromise {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T result) { value = std::move(result); }
  T take() { return std::move(*value); }
};

template <> struct TaskResult<void> : TaskPromise {
  Task<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace detail

/// A coroutine that starts when it is awaited, or when `get` is called. If nothing is pending it runs to its end as a
/// plain function would; in JavaScript it suspends on promises. Move-only.
template <class T = void> class [[nodiscard]] Task {
 public:
  /// The promise type of the coroutine.
  using promise_type = detail::TaskResult<T>;
  /// The coroutine's handle.
  using Handle = std::coroutine_handle<promise_type>;

  /// Owns that coroutine.
  explicit Task(Handle handle) : handle_(handle) {}
  /// Moves the other's coroutine to this object.
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  /// Exchanges the two coroutines.
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  /// Runs the child immediately. A child that finishes at once costs no suspension, and no stack (symmetric transfer
  /// alone overflows after some thousands of children, since compilers may not make it a tail call).
  bool await_ready() {
    handle_.resume();
    return handle_.done();
  }
  /// Resumes `parent` when this one is done.
  void await_suspend(std::coroutine_handle<> parent) { handle_.promise().continuation = parent; }
  /// The result; throws the coroutine's exception.
  T await_resume() { return result(); }

  /// Runs the coroutine like a plain call. Throws Error(state) if it must await an event loop.
  T get() {
    handle_.resume();
    check(handle_.done(), ErrorKind::state, "Task",
          "a callback or generator is still pending - expected a result at once - "
          "await the promise instead of calling get().");
    return result();
  }

  /// Whether the coroutine has finished.
  bool done() const { return handle_.done(); }

 private:
  T result() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return handle_.promise().take();
  }

  Handle handle_;
};

template <class T> Task<T> detail::TaskResult<T>::get_return_object() {
  return Task<T>(Task<T>::Handle::from_promise(*this));
}
inline Task<void> detail::TaskResult<void>::get_return_object() {
  return Task<void>(Task<void>::Handle::from_promise(*this));
}

/// A running Task that others can await, now or later.
class TaskPending : public Pending {
 public:
  /// Owns the task.
  explicit TaskPending(Task<> task) : task_(std::move(task)) {}
  bool ready() const override { return task_.done(); }
  void on_ready(std::coroutine_handle<> resume) override { task_.await_suspend(resume); }
  void rethrow() override { task_.await_resume(); }

 private:
  Task<> task_;
};

/// Runs a Task until it suspends. Null if it has finished. Throws its exceptions up to then.
inline PendingPtr started(Task<> task) {
  if (!task.await_ready()) return std::make_unique<TaskPending>(std::move(task));
  task.await_resume();
  return nullptr;
}

}  // namespace etude
