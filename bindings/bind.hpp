#pragma once

/// Registration: `bind<"ops.clip(x, low, high)", ops::clip>()` gives JavaScript `module.ops_clip`. Its arguments,
/// errors and result are converted by their types. Each binding adds one small function to the module, which reads,
/// calls and returns; all other code here exists once.
#include <emscripten/threading.h>

#include <array>
#include <span>

#include "options.hpp"

namespace etude::js {

/// "ops.sum(x, axes?)": the function's name in errors, and its arguments. Arguments with a question mark are optional.
class Header {
 public:
  explicit Header(std::string_view text);
  /// The header of this text, which is parsed once.
  static const Header& of(const char* text);

  std::string_view name() const { return name_; }
  /// "ops_sum(x, axes?)" in camelCase; for a member of a class only the part after the dot.
  std::string javascript(bool of_class = false) const;
  const std::string& argument(std::size_t index) const { return arguments_.at(index); }
  bool optional(std::size_t index) const { return optional_.at(index); }

 private:
  std::string name_;
  std::vector<std::string> arguments_;
  std::vector<bool> optional_;
  bool property_ = false;
};

/// Converts a Task to a promise.
template <class T> struct Conversion<Task<T>> {
  static val to(Task<T> task) { return promise_of(std::move(task), to_js<T>); }
  static std::string made() { return "Promise<" + Conversion<T>::made() + ">"; }
};

/// A Task of a method. Its promise also rejects when the module ends, as web/ ensures for those of functions.
template <class T> struct MethodTask {
  Task<T> task;
};
template <class T> struct Conversion<MethodTask<T>> {
  static val to(MethodTask<T> made) { return call_host("outcome", Conversion<Task<T>>::to(std::move(made.task))); }
  static std::string made() { return Conversion<Task<T>>::made(); }
};

/// Embind repeats its initialization in every worker thread, which calls no bindings. Bindings belong to the thread
/// that loaded the module.
inline bool in_worker() { return !emscripten_is_main_runtime_thread(); }

/// Registers a class whose objects both languages hold.
template <class T, class Base = emscripten::internal::NoBaseClass> emscripten::class_<T, Base> held() {
  const std::string name = class_name<T>();
  emscripten::class_<T, Base> bound(name.c_str());
  bound.template smart_ptr<std::shared_ptr<T>>((name + "Pointer").c_str());
  return bound;
}

/// The arguments of a call from JavaScript, read one by one.
class Call {
 public:
  Call(const char* text, void* self, std::span<const val* const> given);

  template <class T> T argument(std::size_t index) const {
    if constexpr (HasFields<T>)
      return from_js<T>(*given_[index], where(index));
    else if constexpr (std::is_default_constructible_v<T>)
      return is_left_out(index) ? T{} : from_js<T>(*given_[index], where(index));
    else
      return from_js<T>(passed(index), where(index));
  }
  /// The function's name in errors.
  std::string_view name() const { return header_.name(); }
  /// The object of a method's call.
  template <class T> T& self() const { return *static_cast<T*>(self_); }

 private:
  Where where(std::size_t index) const { return {header_.name(), header_.argument(index), like_}; }
  /// Throws Error(value) if an argument is missing.
  const val& passed(std::size_t index) const;
  bool is_left_out(std::size_t index) const;

  const Header& header_;
  void* self_;
  std::span<const val* const> given_;
  /// The last argument that is a Value; numbers in other arguments get its dtype.
  Value like_;
};

/// Reads the arguments of a call, makes the call, and returns its result.
using Work = val (*)(const Call&);

/// Names a call in errors about a part of the module that is not loaded, until the next call.
void set_place(std::string_view place);

/// Runs the work, and rethrows its exceptions in JavaScript.
val make_call(Work work, const char* text, void* self, std::span<const val* const> given);

template <class T> using Bare = std::remove_cvref_t<T>;
template <class> using AnyValue = val;

/// The result of `work`, converted to JavaScript.
template <class R, class F> val result_of(F&& work) {
  if constexpr (std::is_void_v<R>) {
    work();
    return val::undefined();
  } else {
    return Conversion<Bare<R>>::to(work());
  }
}

template <FixedString Text, auto F, class Signature> struct Function;
template <FixedString Text, auto F, class R, class... A> struct Function<Text, F, R (*)(A...)> {
  static val call(AnyValue<A>... given) {
    return make_call(work, Text.text, nullptr, std::array<const val*, sizeof...(A)>{&given...});
  }

 private:
  static val work(const Call& call) { return with(call, std::index_sequence_for<A...>()); }
  template <std::size_t... I> static val with([[maybe_unused]] const Call& call, std::index_sequence<I...>) {
    return result_of<R>([&]() -> R { return F(call.argument<Bare<A>>(I)...); });
  }
};

/// The same for methods of an object.
template <FixedString Text, auto F, class Signature> struct Method;
template <FixedString Text, auto F, class R, class Self, class... A> struct Method<Text, F, R (*)(Self, A...)> {
  static val call(Self self, AnyValue<A>... given) {
    return make_call(work, Text.text, &self, std::array<const val*, sizeof...(A)>{&given...});
  }
  static val get(const Bare<Self>& self) { return call(const_cast<Bare<Self>&>(self)); }
  static void set(Bare<Self>& self, AnyValue<A>... given) { call(self, given...); }

 private:
  static val work(const Call& call) { return with(call, std::index_sequence_for<A...>()); }
  template <std::size_t... I> static val with(const Call& call, std::index_sequence<I...>) {
    return result_of<R>([&]() -> R { return F(call.self<Bare<Self>>(), call.argument<Bare<A>>(I)...); });
  }
};

}  // namespace etude::js

// The program that declares the module for TypeScript makes no calls.
#ifdef ETUDE_DECLARATIONS
#include "declare.hpp"
#else

namespace etude::js {

template <class... Values> [[gnu::noinline]] void bind_function(const char* text, val (*function)(Values...)) {
  emscripten::function(Header::of(text).javascript().c_str(), function);
}
template <FixedString Text, auto F> void bind() { bind_function(Text.text, &Function<Text, F, decltype(+F)>::call); }

template <FixedString Text, auto F, class Class> void method(Class& bound) {
  bound.function(Header::of(Text.text).javascript(true).c_str(), &Method<Text, F, decltype(+F)>::call);
}

/// A readable property; writable with a second function.
template <FixedString Text, auto Get, class Class> void property(Class& bound) {
  bound.property(Header::of(Text.text).javascript(true).c_str(), &Method<Text, Get, decltype(+Get)>::get);
}
template <FixedString Text, auto Get, auto Set, class Class> void property(Class& bound) {
  bound.property(Header::of(Text.text).javascript(true).c_str(), &Method<Text, Get, decltype(+Get)>::get,
                 &Method<Text, Set, decltype(+Set)>::set);
}

}  // namespace etude::js

#endif
