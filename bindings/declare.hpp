#pragma once

/// The same registration as in bind.hpp, for a program that only writes the declarations: bound functions have
/// the types for TypeScript, and do nothing.
#include "bind.hpp"

namespace etude::js {

/// The declarations of all bound options, by the name of their struct.
inline std::map<std::string, std::string>& declarations() {
  static std::map<std::string, std::string> result;
  return result;
}

/// The TypeScript type of options. `defaults`: options with their defaults.
std::string declared_fields(std::span<const FieldRow> rows, void* defaults);

template <HasFields T> std::string declared_options() {
  std::string& text = declarations()[class_name<T>()];
  if (text.empty()) {
    constexpr auto rows = T::fields();
    T defaults{};
    text = "export interface " + class_name<T>() + " {\n" + declared_fields(rows, &defaults) + "}\n";
  }
  return class_name<T>();
}

/// JavaScript values with a more specific TypeScript type than `any`.
template <class T> struct Given : val {
  explicit Given(val value) : val(std::move(value)) {}
};
template <class T> struct Made : val {
  explicit Made(val value) : val(std::move(value)) {}
};

/// Registers the TypeScript name of a type in Embind, once.
template <class Typed> void name_type(const std::string& name) {
  static bool done = false;
  if (!std::exchange(done, true)) emscripten::register_type<Typed>(name.c_str());
}

template <class R> std::string made_name() {
  if constexpr (std::is_void_v<R>)
    return "void";
  else
    return Conversion<R>::made();
}

template <class Signature> struct Declared;
template <class R, class... A> struct Declared<R (*)(A...)> {
  static Made<R> call(Given<Bare<A>>...) { return Made<R>(val::undefined()); }
  static void name_types() {
    (name_type<Given<Bare<A>>>(Conversion<Bare<A>>::given()), ...);
    name_type<Made<R>>(made_name<R>());
  }
};

template <class Signature> struct DeclaredMethod;
template <class R, class Self, class... A> struct DeclaredMethod<R (*)(Self, A...)> {
  static Made<R> call(Self, Given<Bare<A>>...) { return Made<R>(val::undefined()); }
  static Made<R> get(const Bare<Self>&) { return Made<R>(val::undefined()); }
  /// Embind requires that a writable property is read as the same type.
  static Given<R> get_given(const Bare<Self>&) { return Given<R>(val::undefined()); }
  static void set(Bare<Self>&, Given<Bare<A>>...) {}
  static void name_types() { Declared<R (*)(A...)>::name_types(); }
};

template <FixedString Text, auto F> void bind() {
  using Bound = Declared<decltype(+F)>;
  Bound::name_types();
  emscripten::function(Header::of(Text.text).javascript().c_str(), &Bound::call);
}

template <FixedString Text, auto F, class Class> void method(Class& bound) {
  using Bound = DeclaredMethod<decltype(+F)>;
  Bound::name_types();
  bound.function(Header::of(Text.text).javascript(true).c_str(), &Bound::call);
}

template <FixedString Text, auto Get, class Class> void property(Class& bound) {
  using Getter = DeclaredMethod<decltype(+Get)>;
  Getter::name_types();
  bound.property(Header::of(Text.text).javascript(true).c_str(), &Getter::get);
}
template <FixedString Text, auto Get, auto Set, class Class> void property(Class& bound) {
  using Getter = DeclaredMethod<decltype(+Get)>;
  using Setter = DeclaredMethod<decltype(+Set)>;
  Getter::name_types();
  Setter::name_types();
  bound.property(Header::of(Text.text).javascript(true).c_str(), &Getter::get_given, &Setter::set);
}

}  // namespace etude::js
