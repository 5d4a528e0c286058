#pragma once

/// Conversions of each type between JavaScript and C++, and its names in TypeScript. There are no other conversions.
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "javascript.hpp"
#include "spelling.hpp"

namespace etude::js {

/// The value that is read, for errors, and the Value whose dtype a number gets.
struct Where {
  std::string_view function;
  std::string what;
  Value like{};

  Where of(std::string part) const { return {function, std::move(part), like}; }
  [[noreturn]] void wrong(const val& came, std::string_view expected, std::string_view advice) const;
  /// Reports that an object of this class was expected.
  [[noreturn]] void wrong_class(const val& came, const std::string& name) const;
};

/// Conversion<T>::from(value, where) and ::to(object) convert. ::given and ::made are TypeScript's names for T as an
/// argument and as a result.
template <class T> struct Conversion;

template <class T> T from_js(const val& value, const Where& where) { return Conversion<T>::from(value, where); }
template <class T> val to_js(const T& object) { return Conversion<T>::to(object); }

/// The names of an object's own properties.
std::vector<std::string> keys(const val& object);
/// The same. Throws Error(value) for what is not a plain object.
std::vector<std::string> keys(const val& object, const Where& where);
/// "etude::losses::MeanSquaredErrorOptions" -> "MeanSquaredErrorOptions".
std::string last_name(std::string_view signature);
template <class T> std::string class_name() { return last_name(__PRETTY_FUNCTION__); }

// ---- Numbers, strings, lists ----

template <> struct Conversion<val> {
  static val from(const val& value, const Where&) { return value; }
  static val to(const val& value) { return value; }
  static std::string given() { return "unknown"; }
  static std::string made() { return "unknown"; }
};

template <> struct Conversion<bool> {
  static bool from(const val& value, const Where& where) {
    if (!value.isTrue() && !value.isFalse()) where.wrong(value, "true or false", "pass one of them");
    return value.isTrue();
  }
  static val to(bool value) { return val(value); }
  static std::string given() { return "boolean"; }
  static std::string made() { return "boolean"; }
};

template <> struct Conversion<double> {
  static double from(const val& value, const Where& where) {
    if (!value.isNumber()) where.wrong(value, "a number", "pass one");
    const double number = value.as<double>();
    if (std::isnan(number)) where.wrong(value, "a number", "look where it was computed");
    return number;
  }
  static val to(double value) { return val(value); }
  static std::string given() { return "number"; }
  static std::string made() { return "number"; }
};

template <class T>
  requires std::is_integral_v<T> && (!std::is_same_v<T, bool>)
struct Conversion<T> {
  static T from(const val& value, const Where& where) {
    const double number = value.isNumber() ? value.as<double>() : std::nan("");
    const bool fits = std::floor(number) == number && number >= static_cast<double>(std::numeric_limits<T>::min()) &&
                      number <= std::min(0x1p53, static_cast<double>(std::numeric_limits<T>::max()));
    if (!fits)
      where.wrong(value, std::is_unsigned_v<T> ? "a whole number of 0 or more" : "a whole number",
                  "pass one, such as 1");
    return static_cast<T>(number);
  }
  static val to(T value) { return val(static_cast<double>(value)); }
  static std::string given() { return "number"; }
  static std::string made() { return "number"; }
};

template <> struct Conversion<std::string> {
  /// An unpaired surrogate is refused: the conversion would change it to another character.
  static std::string from(const val& value, const Where& where);
  static val to(const std::string& value) { return val(value); }
  static std::string given() { return "string"; }
  static std::string made() { return "string"; }
};

template <class T> struct Conversion<std::optional<T>> {
  static std::optional<T> from(const val& value, const Where& where) {
    if (value.isUndefined() || value.isNull()) return std::nullopt;
    return from_js<T>(value, where);
  }
  static val to(const std::optional<T>& value) { return value ? to_js(*value) : val::null(); }
  static std::string given() { return Conversion<T>::given() + " | null"; }
  static std::string made() { return Conversion<T>::made() + " | null"; }
};

template <class T> struct Conversion<std::vector<T>> {
  static std::vector<T> from(const val& value, const Where& where) {
    if (!value.isArray()) where.wrong(value, "an array", "put it into [ ]");
    std::vector<T> result;
    const auto length = value["length"].as<unsigned>();
    for (unsigned i = 0; i < length; ++i)
      result.push_back(from_js<T>(value[i], where.of(where.what + '[' + std::to_string(i) + ']')));
    return result;
  }
  static val to(const std::vector<T>& values) {
    val result = val::array();
    for (const T& value : values) result.call<void>("push", to_js(value));
    return result;
  }
  static std::string given() { return "(" + Conversion<T>::given() + ")[]"; }
  static std::string made() { return "(" + Conversion<T>::made() + ")[]"; }
};

/// Whether it is a plain object, not one of a class.
inline bool is_dictionary(const val& value) {
  if (type_of(value) != "object" || value.isNull() || value.isArray()) return false;
  const val constructor = value["constructor"];
  return constructor.isUndefined() || constructor == val::global("Object");
}
template <class T> struct Conversion<std::map<std::string, T>> {
  static std::map<std::string, T> from(const val& value, const Where& where) {
    std::map<std::string, T> result;
    for (const std::string& key : keys(value, where))
      result.emplace(key, from_js<T>(value[key], where.of(where.what + '.' + key)));
    return result;
  }
  static val to(const std::map<std::string, T>& map) {
    val result = val::object();
    for (const auto& [key, value] : map) result.set(key, to_js(value));
    return result;
  }
  static std::string given() { return "Record<string, " + Conversion<T>::given() + ">"; }
  static std::string made() { return "Record<string, " + Conversion<T>::made() + ">"; }
};

/// null is an unknown extent, -1.
template <> struct Conversion<Shape> {
  static Shape from(const val& value, const Where& where);
  static val to(const Shape& shape) { return to_js(std::vector<std::int64_t>(shape.begin(), shape.end())); }
  static std::string given() { return "readonly (number | null)[]"; }
  static std::string made() { return "number[]"; }
};

template <> struct Conversion<DType> {
  static DType from(const val& value, const Where& where) {
    return dtype_from_name(from_js<std::string>(value, where));
  }
  static val to(DType dtype) { return val(std::string(name_of(dtype))); }
  static std::string given() { return "DType"; }
  static std::string made() { return "DType"; }
};

// ---- Objects that JavaScript holds by a handle, and that are freed with it ----

struct PredictionStream;  // predict.cpp

template <class T>
concept Held =
    std::is_base_of_v<Layer, T> || std::is_base_of_v<Loss, T> || std::is_base_of_v<Metric, T> ||
    std::is_base_of_v<Optimizer, T> || std::is_base_of_v<Initializer, T> || std::is_base_of_v<Regularizer, T> ||
    std::is_base_of_v<Constraint, T> || std::is_base_of_v<Callback, T> || std::is_base_of_v<LearningRateSchedule, T> ||
    std::is_same_v<PredictionStream, T> || std::is_same_v<FeatureSpace, T>;

/// Kinds of classes that users extend in JavaScript, besides layers: web/src/custom.ts.
template <class T>
concept Extended = std::is_same_v<T, Loss> || std::is_same_v<T, Metric> || std::is_same_v<T, Optimizer> ||
                   std::is_same_v<T, Initializer> || std::is_same_v<T, Regularizer> || std::is_same_v<T, Constraint> ||
                   std::is_same_v<T, LearningRateSchedule>;

/// Whether it is an object of one of the module's classes.
bool is_of_class(const val& value, const std::string& name);
/// The handle of an object of web; any other value itself.
val handle_of(const val& value);
/// Keeps an object of web and what calls its functions, which refers to it weakly.
std::shared_ptr<void> keep(const val& value, std::shared_ptr<void> object);
/// The same, if `value` is not the handle itself. Throws if its class lacks a function.
std::shared_ptr<void> keep_complete(const val& value, const val& handle, std::shared_ptr<void> object);

template <Held T> struct Conversion<std::shared_ptr<T>> {
  static bool is(const val& value) { return is_of_class(Extended<T> ? handle_of(value) : value, class_name<T>()); }
  static std::shared_ptr<T> from(const val& value, const Where& where) {
    if (!is(value)) where.wrong_class(value, class_name<T>());
    if constexpr (!Extended<T>) {
      return value.as<std::shared_ptr<T>>();
    } else {
      const val handle = handle_of(value);
      auto object = handle.as<std::shared_ptr<T>>();
      return {keep_complete(value, handle, object), object.get()};
    }
  }
  static val to(const std::shared_ptr<T>& object) { return object ? val(object) : val::null(); }
  static std::string given() { return class_name<T>(); }
  static std::string made() { return class_name<T>(); }
};

/// The result keeps an object of web, whose functions the layer calls.
template <> LayerPtr Conversion<LayerPtr>::from(const val& value, const Where& where);
/// Converts to an object of web if there is one, else to the most derived class in JavaScript, such as Recurrent.
template <> val Conversion<LayerPtr>::to(const LayerPtr& layer);
template <> inline std::string Conversion<LayerPtr>::given() { return "LayerLike"; }
template <> inline std::string Conversion<LayerPtr>::made() { return "LayerLike"; }
/// Converts to an object of web if there is one.
template <> val Conversion<OptimizerPtr>::to(const OptimizerPtr& optimizer);

template <> struct Conversion<Variable> {
  static Variable from(const val& value, const Where& where);
  static val to(const Variable& variable) { return val(std::make_shared<Variable>(variable)); }
  static std::string given() { return "Variable"; }
  static std::string made() { return "Variable"; }
};

template <> struct Conversion<SymbolicTensor> {
  static bool is(const val& value) { return is_of_class(value, "SymbolicTensor"); }
  static SymbolicTensor from(const val& value, const Where& where) {
    if (!is(value)) where.wrong(value, "a SymbolicTensor", "make one by et.input(), or by a layer's apply()");
    return *value.as<std::shared_ptr<SymbolicTensor>>();
  }
  static val to(const SymbolicTensor& tensor) { return val(std::make_shared<SymbolicTensor>(tensor)); }
  static std::string given() { return "SymbolicTensor"; }
  static std::string made() { return "SymbolicTensor"; }
};

// ---- Data ----

/// web's Tensor: a typed array and a shape. Both directions copy the bytes once.
template <> struct Conversion<Tensor> {
  static Tensor from(const val& value, const Where& where);
  static val to(const Tensor& tensor);
  static std::string given() { return "TensorLike"; }
  static std::string made() { return "Tensor"; }
};
template <> struct Conversion<std::vector<std::byte>> {
  static std::vector<std::byte> from(const val& value, const Where& where);
  static std::string given() { return "Uint8Array"; }
};
/// The result of web's asBatch: lists of Tensors named x, y, sampleWeight, and the names of those by name.
template <> struct Conversion<Batch> {
  static Batch from(const val& value, const Where& where);
  /// {x, y, sampleWeight}: a Tensor, or lists and objects of several.
  static val to(const Batch& batch);
  static std::string given() { return "Batch"; }
  static std::string made() { return "DatasetElement"; }
};
/// The result of web's asData, distinguished by its `kind`.
template <> struct Conversion<Data> {
  static Data from(const val& value, const Where& where);
  static std::string given() { return "DataLike"; }
};
template <> struct Conversion<Logs> {
  static val to(const Logs& logs);
  static std::string made() { return "Record<string, number>"; }
};
template <> struct Conversion<HistoryPtr> {
  static val to(const HistoryPtr& history);
  static std::string made() { return "History"; }
};

// ---- The Values and functions of a step ----

/// While a scope of this class exists, Values are converted to numbers. When the outermost scope ends, these numbers
/// become invalid.
class TraceScope {
 public:
  TraceScope();
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
};

template <> struct Conversion<Value> {
  static bool is(const val& value) { return value.instanceof(host("Value")); }
  static Value from(const val& value, const Where& where);
  static val to(Value value);
  static std::string given() { return "ValueLike"; }
  static std::string made() { return "Value"; }
};
/// Absent Values, such as gradients of variables on which the loss does not depend, become null.
template <> struct Conversion<std::vector<Value>> {
  static std::vector<Value> from(const val& value, const Where& where);
  static val to(const std::vector<Value>& values);
  static std::string given() { return "Value[]"; }
  static std::string made() { return "(Value | null)[]"; }
};
/// Values that may be absent: null in JavaScript.
struct Gradients {
  std::vector<Value> values;
};
template <> struct Conversion<Gradients> {
  static Gradients from(const val& value, const Where& where);
  static std::string given() { return "(Value | null)[]"; }
};
/// The result of a JavaScript step: one Value, or lists and objects of them.
template <> struct Conversion<Outputs> {
  static Outputs from(const val& value, const Where& where);
  static val to(const Outputs& outputs);
  static std::string given() { return "Nested<Value>"; }
  static std::string made() { return "Nested<Value>"; }
};
template <> struct Conversion<StepData> {
  static StepData from(const val& value, const Where& where);
  static val to(const StepData& data);
  static std::string given() { return "StepData"; }
  static std::string made() { return "StepData"; }
};
template <> struct Conversion<StepLogs> {
  static StepLogs from(const val& value, const Where& where);
  static val to(const StepLogs& logs);
  static std::string given() { return "StepLogs"; }
  static std::string made() { return "StepLogs"; }
};

/// A JavaScript function of Values.
template <class... Values> struct Conversion<std::function<Value(Values...)>> {
  static std::function<Value(Values...)> from(const val& function, const Where& where) {
    return [function, name = std::string(where.function)](Values... values) {
      const TraceScope scope;
      const val result = call(function, to_js(values)...);
      return from_js<Value>(result, {name, "the result of the function"});
    };
  }
  static std::string given() {
    return sizeof...(Values) == 1 ? "((x: Value) => Value)" : "((yTrue: Value, yPred: Value) => Value)";
  }
};

}  // namespace etude::js
