#pragma once

/// Options structs as JavaScript objects. The struct's own `fields` visitor reads them, lists what there is when a name
/// is unknown, and prints the TypeScript type: nothing is said twice.
#include <map>
#include <sstream>

#include "crossing.hpp"

namespace etude::js {

template <class T>
concept HasFields = requires(T& options) { T::fields(options, [](const char*, auto&) {}); };

template <class T> struct Crossing<Choice<T>> {
  static Choice<T> from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (value.isString()) return value.as<std::string>();
    if constexpr (std::is_same_v<T, Loss> || std::is_same_v<T, Metric>) {
      if (type_of(value) == "function") return from_function(value, where);
    }
    if (!Crossing<std::shared_ptr<T>>::is(value)) where.wrong(value, given(), "choose one");
    return from_js<std::shared_ptr<T>>(value, where);
  }
  static std::string given() {
    const std::string function =
        std::is_same_v<T, Loss> || std::is_same_v<T, Metric> ? " | " + Crossing<Comparison>::given() : "";
    return "string | " + class_name<T>() + function + " | null";
  }

 private:
  using Comparison = std::function<Value(Value, Value)>;
  static Choice<T> from_function(const val& value, const Where& where) {
    std::string name = value["name"].as<std::string>();
    if (name.empty()) name = std::is_same_v<T, Loss> ? "loss" : "metric";
    if constexpr (std::is_same_v<T, Loss>)
      return losses::from_function(from_js<Comparison>(value, where), name);
    else
      return metrics::from_function(from_js<Comparison>(value, where), name);
  }
};

template <> struct Crossing<Activation> {
  static Activation from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (type_of(value) == "function") return from_js<Activation::Function>(value, {"activation", ""});
    if (!value.isString()) where.wrong(value, "a name or a function of a Value", "choose one");
    return value.as<std::string>();
  }
  static std::string given() { return "string | " + Crossing<Activation::Function>::given() + " | null"; }
};

template <> struct Crossing<LearningRate> {
  static LearningRate from(const val& value, const Where& where) {
    if (value.isNumber()) return from_js<double>(value, where);
    if (!Crossing<LearningRateSchedulePtr>::is(value))
      where.wrong(value, "a number or a LearningRateSchedule", "make one by et.schedules.…");
    return from_js<LearningRateSchedulePtr>(value, where);
  }
  static std::string given() { return "number | LearningRateSchedule"; }
};

template <> struct Crossing<Pair> {
  static Pair from(const val& value, const Where& where) {
    if (!value.isArray()) return from_js<int>(value, where);
    const auto numbers = from_js<std::vector<int>>(value, where);
    if (numbers.size() != 2) where.wrong(value, "a number or two", "give one for each axis");
    return {numbers[0], numbers[1]};
  }
  static std::string given() { return "number | [height: number, width: number]"; }
};

template <> struct Crossing<Integers> {
  static Integers from(const val& value, const Where& where) {
    if (!value.isArray()) return from_js<std::int64_t>(value, where);
    return from_js<std::vector<std::int64_t>>(value, where);
  }
  static std::string given() { return "number | readonly number[]"; }
};

template <> struct Crossing<ShuffleChoice> {
  static ShuffleChoice from(const val& value, const Where& where) {
    return value.isString() ? ShuffleChoice(value.as<std::string>().c_str())
                            : ShuffleChoice(from_js<bool>(value, where));
  }
  static std::string given() { return "boolean | 'batch'"; }
};

template <> struct Crossing<ValidationFrequency> {
  static ValidationFrequency from(const val& value, const Where& where) {
    if (value.isArray()) return from_js<std::vector<int>>(value, where);
    return from_js<int>(value, where);
  }
  static std::string given() { return "number | number[]"; }
};

template <> struct Crossing<CallbackPtr> {
  static CallbackPtr from(const val& value, const Where& where);
  static std::string given() { return "CallbackLike"; }
};

/// Where summary() writes to, and the like.
template <> struct Crossing<std::function<void(std::string_view)>> {
  static std::function<void(std::string_view)> from(const val& function, const Where& where) {
    if (type_of(function) != "function")
      where.wrong(function, "a function of a string", "pass one, such as console.log");
    return [function](std::string_view text) { call(function, std::string(text)); };
  }
  static std::string given() { return "((text: string) => void)"; }
};

/// The declarations of all options structs that were bound, by name.
std::map<std::string, std::string>& declarations();

/// A field's value where it can be said in a few letters.
template <class T> std::string default_of(const T& value) {
  std::ostringstream text;
  if constexpr (std::is_same_v<T, bool>)
    text << (value ? "true" : "false");
  else if constexpr (std::is_same_v<T, double>)
    std::isnan(value) ? text : text << value;  // NaN: there is none
  else if constexpr (std::is_same_v<T, LearningRate>)
    text << value.number();
  else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Pair> || std::is_same_v<T, Integers>)
    text << value;
  else if constexpr (std::is_same_v<T, std::string>)
    text << (value.empty() ? "" : "'" + value + "'");
  else if constexpr (requires { value.name(); })
    text << (value.name().empty() ? "" : "'" + value.name() + "'");
  return text.str();
}

// What looks at the fields of options. None of it knows the struct, so that there is one of it for each type of field.

/// Sets a field to what the object has under its name.
struct ReadField {
  const val& object;
  const Where& where;

  template <class Field> void operator()(const char* name, Field& field) const {
    const std::string key = camel_case(name);
    const val value = object[key];
    if (!value.isUndefined()) field = read<Field>(value, where.of(key));
  }

 private:
  /// verbose is a number in C++, and -1 what Keras calls "auto".
  template <class Field> static Field read(const val& value, const Where& where) {
    if constexpr (std::is_same_v<Field, int>)
      if (where.what == "verbose" && value.isString() && value.as<std::string>() == "auto") return -1;
    return from_js<Field>(value, where);
  }
};

struct NameField {
  std::vector<std::string>& names;
  void operator()(const char* name, const auto&) const { names.push_back(camel_case(name)); }
};

/// Writes a field's line of the TypeScript type.
struct DeclareField {
  std::string& text;

  template <class Field> void operator()(const char* name, const Field& field) const {
    const std::string key = camel_case(name), value = key == "verbose" ? "'auto'" : default_of(field);
    if (!value.empty()) text += "  /** Default: " + value + ". */\n";
    text +=
        "  " + key + "?: " + (key == "verbose" ? "0 | 1 | 2 | 'auto'" : Crossing<Field>::given()) + " | undefined;\n";
  }
};

/// Refuses what is no object, and one that has other names than these.
void check_options(const val& object, const Where& where, const std::vector<std::string>& names);

template <HasFields T> struct Crossing<T> {
  static T from(const val& object, const Where& where) {
    T options{};
    if (object.isUndefined() || object.isNull()) return options;
    std::vector<std::string> names;
    T::fields(options, NameField{names});
    check_options(object, where, names);
    T::fields(options, ReadField{object, where});
    return options;
  }

  static std::string given() {
    std::string& text = declarations()[class_name<T>()];
    if (text.empty()) {
      text = "export interface " + class_name<T>() + " {\n";
      T options{};
      T::fields(options, DeclareField{text});
      text += "}\n";
    }
    return class_name<T>();
  }
};

}  // namespace etude::js
