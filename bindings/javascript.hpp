#pragma once

/// The interface to JavaScript: errors in both directions, promises, and the functions that web/ passes to this module.
#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "etude/etude.hpp"

namespace etude::js {

using emscripten::val;

/// A JavaScript exception that core passes on. web/ catches it and C++ rethrows it: no JavaScript exception unwinds C++
/// frames. The user gets the same object back.
struct Thrown {
  val value;
};

/// The function or class `name` that web/ passed to the module when it was loaded: web/src/module.ts.
const val& host(const char* name);

/// Rethrows the exception of a call through `attempt`, if there was one.
val or_throw(val result);

/// Calls a JavaScript function; throws Thrown if it throws.
template <class... Arguments> val call(const val& function, Arguments&&... arguments) {
  return or_throw(host("attempt")(function, std::forward<Arguments>(arguments)...));
}
template <class... Arguments> val call_host(const char* name, Arguments&&... arguments) {
  return call(host(name), std::forward<Arguments>(arguments)...);
}

/// The current exception, as JavaScript gets it: a user's own object, or an EtudeError with text and kind.
val current_error();

/// Runs `work`, and rethrows its exceptions in JavaScript. It is the outermost frame of every call from there.
template <class Work> auto guarded(Work&& work) -> decltype(work()) {
  val error = val::undefined();
  try {
    return work();
  } catch (...) {
    error = current_error();
  }
  error.throw_();
}

bool is_promise(const val& value);
std::string type_of(const val& value);
/// A short text for errors: NaN, "abc", Float64Array, …
std::string describe(const val& value);

/// The settlement of a promise.
struct Settlement {
  val value = val::undefined();
  bool rejected = false;
  std::coroutine_handle<> waiter;
};

/// A promise that core awaits. Its value is then in the Settlement.
class PromisePending : public Pending {
 public:
  explicit PromisePending(val promise, std::shared_ptr<Settlement> settlement = std::make_shared<Settlement>())
      : promise_(std::move(promise)), settlement_(std::move(settlement)) {}
  /// The waiting coroutine may be destroyed before the promise is settled; then nothing is resumed.
  ~PromisePending() override { settlement_->waiter = nullptr; }
  bool ready() const override { return false; }
  void on_ready(std::coroutine_handle<> resume) override;
  void rethrow() override {
    if (settlement_->rejected) throw Thrown{settlement_->value};
  }

 private:
  val promise_;
  std::shared_ptr<Settlement> settlement_;
};

/// Yields to the page, or to Node.js, if the loops have run for at least this number of milliseconds; else null.
PendingPtr turn_after(double milliseconds);

/// Converts a Task to a promise. `convert` converts its result to a JavaScript value.
template <class T, class Convert> val promise_of(Task<T> task, Convert convert) {
  val error = val::undefined();
  try {
    co_return convert(co_await task);
  } catch (...) {
    error = current_error();
  }
  co_return val::global("Promise").call<val>("reject", error);
}

}  // namespace etude::js
