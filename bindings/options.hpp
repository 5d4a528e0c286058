#pragma once

/// Options as JavaScript objects. The rows of a struct list its fields, and print the TypeScript type.
#include <algorithm>
#include <charconv>
#include <map>
#include <span>

#include "conversion.hpp"
#include "dicts.hpp"

namespace etude::js {

template <std::size_t N> struct FixedString {
  char text[N];
  constexpr FixedString(const char (&given)[N]) { std::copy_n(given, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

template <class T> struct Conversion<Choice<T>> {
  static Choice<T> from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (value.isString()) return value.as<std::string>();
    if constexpr (std::is_same_v<T, Loss> || std::is_same_v<T, Metric>) {
      if (type_of(value) == "function") return from_function(value, where);
    }
    if (!Conversion<std::shared_ptr<T>>::is(value)) where.wrong(value, given(), "choose one");
    return from_js<std::shared_ptr<T>>(value, where);
  }
  static std::string given() {
    const std::string function =
        std::is_same_v<T, Loss> || std::is_same_v<T, Metric> ? " | " + Conversion<Comparison>::given() : "";
    return class_name<T>() + "Name | " + class_name<T>() + function + " | null";
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

/// Values for outputs, by their names or in order.
template <class Result, class T> Result for_outputs(const Flat& given, const Where& where) {
  if (given.names.empty()) return from_js<std::vector<T>>(given.values, where);
  std::map<std::string, T> named;
  for (std::size_t i = 0; i < given.names.size(); ++i)
    named.emplace(given.names[i], from_js<T>(given.values[i], where.of(where.what + '.' + given.names[i])));
  return named;
}

/// One value for all outputs, a list with one for each in order, or lists and objects like the outputs.
template <class T> struct Conversion<PerOutput<T>> {
  static PerOutput<T> from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (value.isArray() || is_dictionary(value)) return for_outputs<PerOutput<T>, T>(flat(value), where);
    return from_js<T>(value, where);
  }
  static std::string given() { return "Nested<" + Conversion<T>::given() + ">"; }
};

/// The metrics of an output: a list, one metric, or none.
template <> struct Conversion<MetricList> {
  static MetricList from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (!value.isArray()) return from_js<Choice<Metric>>(value, where);
    MetricList result;
    for (const auto& metric : from_js<std::vector<std::optional<Choice<Metric>>>>(value, where))
      if (metric) result.push_back(*metric);
    return result;
  }
  static std::string given() {
    const std::string one = Conversion<Choice<Metric>>::given();
    return one + " | (" + one + ")[]";
  }
};

/// Metrics for all outputs; for each output in order, if the list contains lists; or lists and objects like the
/// outputs.
template <> struct Conversion<MetricChoices> {
  static MetricChoices from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    const Flat metrics = flat(value, "flattenMetrics");
    const bool is_one = metrics.names.empty() && metrics.values["length"].as<unsigned>() == 1;
    if (is_one && metrics.values[0].strictlyEquals(value)) return from_js<MetricList>(value, where);
    return for_outputs<MetricChoices, MetricList>(metrics, where);
  }
  static std::string given() { return "Nested<" + Conversion<Choice<Metric>>::given() + ">"; }
};

template <> struct Conversion<Activation> {
  static Activation from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (type_of(value) == "function") return from_js<Activation::Function>(value, {"activation", ""});
    if (!value.isString()) where.wrong(value, "a name or a function of a Value", "choose one");
    return value.as<std::string>();
  }
  static std::string given() { return "ActivationName | " + Conversion<Activation::Function>::given() + " | null"; }
};

/// A function returns a string, or an array of strings.
template <> struct Conversion<TextStep> {
  static TextStep from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (value.isString()) return value.as<std::string>();
    if (type_of(value) != "function") where.wrong(value, "a name, a function of a text, or null", "choose one");
    return [value, name = std::string(where.function), what = where.what](const std::string& text) {
      const val result = call(value, text);
      const Where place{name, "the result of " + what};
      return result.isString() ? std::vector{from_js<std::string>(result, place)}
                               : from_js<std::vector<std::string>>(result, place);
    };
  }
  static std::string given() { return "string | ((text: string) => string | readonly string[]) | null"; }
};

template <> struct Conversion<NgramSizes> {
  static NgramSizes from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (!value.isArray()) return from_js<std::int64_t>(value, where);
    return from_js<std::vector<std::int64_t>>(value, where);
  }
  static std::string given() { return "number | readonly number[] | null"; }
};

template <> struct Conversion<MaskValue> {
  static MaskValue from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (value.isString()) return from_js<std::string>(value, where);
    return from_js<std::int64_t>(value, where);
  }
  static std::string given() { return "string | number | null"; }
};

template <> struct Conversion<LearningRate> {
  static LearningRate from(const val& value, const Where& where) {
    if (value.isNumber()) return from_js<double>(value, where);
    if (!Conversion<LearningRateSchedulePtr>::is(value))
      where.wrong(value, "a number or a LearningRateSchedule", "make one by et.schedules.…");
    return from_js<LearningRateSchedulePtr>(value, where);
  }
  static std::string given() { return "number | LearningRateSchedule"; }
};

template <> struct Conversion<initializers::ConstantValue> {
  static initializers::ConstantValue from(const val& value, const Where& where) {
    if (value.isNumber()) return from_js<double>(value, where);
    return from_js<Tensor>(value, where);
  }
  static std::string given() { return Conversion<Tensor>::given(); }
};

template <> struct Conversion<Integers> {
  static Integers from(const val& value, const Where& where) {
    if (!value.isArray()) return from_js<std::int64_t>(value, where);
    return from_js<std::vector<std::int64_t>>(value, where);
  }
  static std::string given() { return "number | readonly number[]"; }
};

template <> struct Conversion<Margins> {
  static Margins from(const val& value, const Where& where) {
    if (!value.isArray()) return from_js<std::int64_t>(value, where);
    return from_js<std::vector<Integers>>(value, where);
  }
  static std::string given() { return "number | readonly (number | readonly number[])[]"; }
};

template <> struct Conversion<Doubles> {
  static Doubles from(const val& value, const Where& where) {
    if (value.isNull()) return {};
    if (!value.isArray()) return from_js<double>(value, where);
    return from_js<std::vector<double>>(value, where);
  }
  static std::string given() { return "number | readonly number[] | null"; }
};

template <> struct Conversion<ShuffleChoice> {
  static ShuffleChoice from(const val& value, const Where& where) {
    return value.isString() ? ShuffleChoice(value.as<std::string>().c_str())
                            : ShuffleChoice(from_js<bool>(value, where));
  }
  static std::string given() { return "boolean | 'batch'"; }
};

template <std::derived_from<AutoChoice> T> struct Conversion<T> {
  static T from(const val& value, const Where& where) {
    return value.isString() ? T(value.as<std::string>().c_str()) : T(from_js<bool>(value, where));
  }
  static std::string given() { return "boolean | 'auto'"; }
};

template <> struct Conversion<ValidationFrequency> {
  static ValidationFrequency from(const val& value, const Where& where) {
    if (value.isArray()) return from_js<std::vector<int>>(value, where);
    return from_js<int>(value, where);
  }
  static std::string given() { return "number | number[]"; }
};

template <> struct Conversion<CallbackParams> {
  static val to(const CallbackParams& params);
  static std::string made() { return "CallbackParams"; }
};

/// An object with hooks, or one of Étude's callbacks.
template <> struct Conversion<CallbackPtr> {
  static CallbackPtr from(const val& value, const Where& where);
  static val to(const CallbackPtr& callback) { return val(callback); }
  static std::string given() { return "CallbackLike"; }
  static std::string made() { return "Callback"; }
};

/// A receiver of text, such as that of summary().
template <> struct Conversion<std::function<void(std::string_view)>> {
  static std::function<void(std::string_view)> from(const val& function, const Where& where) {
    if (type_of(function) != "function")
      where.wrong(function, "a function of a string", "pass one, such as console.log");
    return [function](std::string_view text) { call(function, std::string(text)); };
  }
  static std::string given() { return "((text: string) => void)"; }
};

/// An array of a pattern and its replacement. A pattern may be a RegExp without flags.
template <> struct Conversion<Renaming> {
  static Renaming from(const val& rule, const Where& where) {
    if (!rule.isArray() || rule["length"].as<int>() != 2)
      where.wrong(rule, "an array of a pattern and its replacement", "pass rules such as ['^encoder/', '']");
    const val pattern = rule[0];
    const bool is_expression = pattern.instanceof(val::global("RegExp"));
    if (is_expression && pattern["flags"].as<std::string>().find_first_not_of('g') != std::string::npos)
      where.wrong(pattern, "a RegExp without flags", "leave them out");
    return {from_js<std::string>(is_expression ? pattern["source"] : pattern, where),
            from_js<std::string>(rule[1], where)};
  }
  static std::string given() { return "readonly [string | RegExp, string]"; }
};

/// The weights of classes.
template <> struct Conversion<ClassWeight> {
  static ClassWeight from(const val& value, const Where& where) {
    if (!is_dictionary(value)) where.wrong(value, "an object such as {0: 1, 1: 10}", "name classes by their numbers");
    ClassWeight result;
    for (const std::string& key : keys(value)) {
      int label = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), label);
      check(error == std::errc{} && end == key.data() + key.size(), ErrorKind::value, where.function, where.what,
            " of class \"", key, "\" - expected whole numbers - name classes by their numbers.");
      result[label] = from_js<double>(value[key], where.of(where.what + '[' + key + ']'));
    }
    return result;
  }
  static std::string given() { return "Record<number, number>"; }
};

/// Sets options to the object's values of the same names. Refuses a value that is no object, and unknown names.
void read_options(std::span<const Field> fields, void* options, const val& object, const Where& where);

/// The TypeScript type of the options `name`: declare.hpp.
template <HasFields T> std::string declared_options();

template <HasFields T> struct Conversion<T> {
  static T from(const val& object, const Where& where) {
    T options{};
    read_options(fields_of<T>, &options, object, where);
    return options;
  }
  static std::string given() { return declared_options<T>(); }
};

}  // namespace etude::js
