#pragma once

/// Registration: `bind<"ops.clip(x, low, high)", ops::clip>()` gives JavaScript `module.ops_clip`, whose arguments are
/// read, and whose errors and result are given back, as their types say. What is bound costs the module one small
/// function that reads, calls and gives back; all else here exists once.
#include <emscripten/threading.h>

#include <array>
#include <span>

#include "options.hpp"

namespace etude::js {

/// "ops.sum(x, axes?)": what errors call the function, and its arguments. Those with a question mark may be left out.
class Header {
 public:
  explicit Header(std::string_view text);
  /// That of this text, which is read once.
  static const Header& of(const char* text);

  std::string_view name() const { return name_; }
  /// "ops_sum(x, axes?)" in camelCase; for a member of a class only what follows the dot.
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

/// Embind repeats its initialization in every worker thread, where nothing is called. What is bound belongs to the
/// thread that loaded the module.
inline bool in_worker() { return !emscripten_is_main_runtime_thread(); }

/// Registers a class whose objects both sides hold.
template <class T, class Base = emscripten::internal::NoBaseClass> emscripten::class_<T, Base> held() {
  const std::string name = class_name<T>();
  emscripten::class_<T, Base> bound(name.c_str());
  bound.template smart_ptr<std::shared_ptr<T>>((name + "Pointer").c_str());
  return bound;
}

/// What JavaScript passed to something bound: read one by one.
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
  /// The object that a method was called on.
  template <class T> T& self() const { return *static_cast<T*>(self_); }

 private:
  Where where(std::size_t index) const { return {header_.name(), header_.argument(index), like_}; }
  /// Throws Error(value) where an argument is missing.
  const val& passed(std::size_t index) const;
  bool is_left_out(std::size_t index) const;

  const Header& header_;
  void* self_;
  std::span<const val* const> given_;
  /// The first argument that is a Value: numbers beside it take its dtype.
  Value like_;
};

/// Reads the arguments of a call, makes it, and gives back its result.
using Work = val (*)(const Call&);

/// Does the work; what it throws is thrown in JavaScript.
val make_call(Work work, const char* text, void* self, std::span<const val* const> given);

template <class T> using Bare = std::remove_cvref_t<T>;
template <class> using AnyValue = val;

/// What `work` gives, as JavaScript has it.
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

/// The same for what is called on an object.
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

// The program that declares the module for TypeScript calls nothing.
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

/// A property that is read, and with a second function written.
template <FixedString Text, auto Get, class Class> void property(Class& bound) {
  bound.property(Header::of(Text.text).javascript(true).c_str(), &Method<Text, Get, decltype(+Get)>::get);
}
template <FixedString Text, auto Get, auto Set, class Class> void property(Class& bound) {
  bound.property(Header::of(Text.text).javascript(true).c_str(), &Method<Text, Get, decltype(+Get)>::get,
                 &Method<Text, Set, decltype(+Set)>::set);
}

}  // namespace etude::js

#endif
