#pragma once

/// Registration: `bind<"ops.clip(x, low, high)", ops::clip>()` gives JavaScript `module.ops_clip`, whose arguments are
/// read, and whose errors and result are given back, as their types say.
#include <emscripten/threading.h>

#include <set>
#include <typeindex>

#include "options.hpp"

namespace etude::js {

template <std::size_t N> struct FixedString {
  char text[N];
  constexpr FixedString(const char (&given)[N]) { std::copy_n(given, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// "ops.sum(x, axes?)": what errors call the function, and its arguments. Those with a question mark may be left out.
class Header {
 public:
  explicit Header(std::string_view text);
  std::string_view name() const { return name_; }
  /// "ops_sum(x, axes?)" in camelCase; for a member of a class only what follows the dot.
  std::string javascript(bool of_class = false) const;
  const std::string& argument(std::size_t index) const { return arguments_.at(index); }
  bool optional(std::size_t index) const { return optional_.at(index); }
  std::size_t size() const { return arguments_.size(); }

 private:
  std::string name_;
  std::vector<std::string> arguments_;
  std::vector<bool> optional_;
  bool property_ = false;
};
template <FixedString Text> const Header& header() {
  static const Header result(Text.view());
  return result;
}

/// JavaScript values of which TypeScript knows more than `any`.
template <class T> struct Given : val {
  explicit Given(const val& value) : val(value) {}
};
template <class T> struct Made : val {
  explicit Made(val value) : val(std::move(value)) {}
};

template <class T> struct Result {
  static Made<T> of(const T& object) { return Made<T>(to_js(object)); }
  static std::string made() { return Crossing<T>::made(); }
};
template <class T> struct Result<Task<T>> {
  static Made<Task<T>> of(Task<T> task) { return Made<Task<T>>(promise_of(std::move(task), to_js<T>)); }
  static std::string made() { return "Promise<" + Crossing<T>::made() + ">"; }
};
template <> struct Result<void> {
  static std::string made() { return "void"; }
};

/// Embind repeats its initialization in every worker thread, where nobody calls anything. What is bound belongs to the
/// thread that loaded the module.
inline bool in_worker() { return !emscripten_is_main_runtime_thread(); }

/// Tells Embind, once, what TypeScript calls a type.
template <class Typed> void name_type(const std::string& name) {
  static bool done = false;
  if (!std::exchange(done, true)) emscripten::register_type<Typed>(name.c_str());
}

template <class T> T argument(const Header& header, std::size_t index, const val& given, Value like) {
  const Where where{header.name(), header.argument(index), like};
  if constexpr (!HasFields<T>)
    if (given.isUndefined()) {
      if constexpr (std::is_default_constructible_v<T>)
        if (header.optional(index)) return T{};
      where.wrong(given, "an argument", "pass one");
    }
  return from_js<T>(given, where);
}

/// The first argument that is a Value: numbers beside it take its dtype.
template <class... Arguments> Value first_value(const Arguments&... given) {
  Value like;
  const auto look = [&](const val& value) {
    if (!like && Crossing<Value>::is(value)) like = from_js<Value>(value, {"Value", ""});
  };
  (look(given), ...);
  return like;
}

template <class R, class F> Made<R> result_of(F&& work) {
  return guarded([&] {
    if constexpr (std::is_void_v<R>) {
      work();
      return Made<R>(val::undefined());
    } else {
      return Result<R>::of(work());
    }
  });
}

template <FixedString Text, auto F, class Signature> struct Function;
template <FixedString Text, auto F, class R, class... A> struct Function<Text, F, R (*)(A...)> {
  template <class T> using Bare = std::remove_cvref_t<T>;

  static Made<R> call(Given<Bare<A>>... given) {
    return result_of<R>([&] {
      const Value like = first_value(given...);
      std::size_t index = 0;
      // Braces: read from left to right.
      return std::apply([](auto&&... values) { return F(std::forward<decltype(values)>(values)...); },
                        std::tuple<Bare<A>...>{argument<Bare<A>>(header<Text>(), index++, given, like)...});
    });
  }
  static void name_types() {
    (name_type<Given<Bare<A>>>(Crossing<Bare<A>>::given()), ...);
    name_type<Made<R>>(Result<R>::made());
  }
};

/// The same for what is called on an object.
template <FixedString Text, auto F, class Signature> struct Method;
template <FixedString Text, auto F, class R, class Self, class... A> struct Method<Text, F, R (*)(Self, A...)> {
  template <class T> using Bare = std::remove_cvref_t<T>;

  static Made<R> call(Self self, Given<Bare<A>>... given) {
    return result_of<R>([&] {
      const Value like = first_value(given...);
      std::size_t index = 0;
      return std::apply([&](auto&&... values) { return F(self, std::forward<decltype(values)>(values)...); },
                        std::tuple<Bare<A>...>{argument<Bare<A>>(header<Text>(), index++, given, like)...});
    });
  }
  static Made<R> get(const Bare<Self>& self) { return call(const_cast<Bare<Self>&>(self)); }
  /// Embind wants a property that is written to be read as the same type.
  static Given<R> get_given(const Bare<Self>& self) { return Given<R>(get(self)); }
  static void set(Bare<Self>& self, Given<Bare<A>>... given) { call(self, given...); }
  static void name_types() { Function<Text, F, R (*)(A...)>::name_types(); }
};

template <FixedString Text, auto F> void bind() {
  using Bound = Function<Text, F, decltype(+F)>;
  Bound::name_types();
  emscripten::function(header<Text>().javascript().c_str(), &Bound::call);
}

/// Where one overload is meant.
template <FixedString Text, class Signature, Signature F> void bind() { bind<Text, F>(); }

template <FixedString Text, auto F, class Class> void method(Class& bound) {
  using Bound = Method<Text, F, decltype(+F)>;
  Bound::name_types();
  bound.function(header<Text>().javascript(true).c_str(), &Bound::call);
}

/// Registers a class whose objects both sides hold.
template <class T, class Base = emscripten::internal::NoBaseClass> emscripten::class_<T, Base> held() {
  const std::string name = class_name<T>();
  emscripten::class_<T, Base> bound(name.c_str());
  bound.template smart_ptr<std::shared_ptr<T>>((name + "Pointer").c_str());
  return bound;
}

/// A property that is read, and with a second function written.
template <FixedString Text, auto Get, class Class> void property(Class& bound) {
  using Getter = Method<Text, Get, decltype(+Get)>;
  Getter::name_types();
  bound.property(header<Text>().javascript(true).c_str(), &Getter::get);
}
template <FixedString Text, auto Get, auto Set, class Class> void property(Class& bound) {
  using Getter = Method<Text, Get, decltype(+Get)>;
  using Setter = Method<Text, Set, decltype(+Set)>;
  Getter::name_types();
  Setter::name_types();
  bound.property(header<Text>().javascript(true).c_str(), &Getter::get_given, &Setter::set);
}

}  // namespace etude::js
