#pragma once

/// Private to core/saving: reads options from JSON and writes them. There is one pair of functions for each type of
/// option; config_fields.cpp lists the types.
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "etude/activations/activations.hpp"
#include "etude/base/choice.hpp"
#include "etude/base/doubles.hpp"
#include "etude/base/error.hpp"
#include "etude/base/integers.hpp"
#include "etude/base/margins.hpp"
#include "etude/base/shape.hpp"
#include "etude/classes/class_table.hpp"
#include "etude/classes/field.hpp"
#include "etude/initializers/initializer.hpp"
#include "etude/layers/layer.hpp"
#include "etude/layers/text_options.hpp"
#include "etude/optimizers/schedule.hpp"
#include "etude/saving/detail/json.hpp"
#include "etude/saving/detail/keras2_activation.hpp"
#include "etude/saving/detail/nested_json.hpp"
#include "etude/training/options.hpp"
#include "etude/training/per_output.hpp"

namespace etude {

// registry.cpp reads and writes objects.
template <class T> Json object_to_json(const T& object);
template <class T> std::shared_ptr<T> object_from_json(const Json& json);

/// The field that is being read, for error messages.
struct FieldPlace {
  std::string class_name, field;

  [[noreturn]] void wrong(const Json& got, const char* expected) const {
    fail(ErrorKind::value, class_name, field, " = ", json_text(got), " - expected ", expected, " - set ", field, '.');
  }
};

inline void read_field(const Json& json, bool& field, const FieldPlace& place) {
  if (!json.is_boolean()) place.wrong(json, "true or false");
  field = json.get<bool>();
}
/// Accepts 3 and 3.0.
template <std::integral T> void read_field(const Json& json, T& field, const FieldPlace& place) {
  constexpr double exact = 9007199254740992;  // up to here a double holds every integer
  const double number = json.is_number() ? json.get<double>() : 0.5;
  const bool whole =
      json.is_number_integer() ? number < 0x1p63 : number == std::floor(number) && std::abs(number) <= exact;
  if (!whole || !std::in_range<T>(json.get<std::int64_t>())) place.wrong(json, "a whole number");
  field = static_cast<T>(json.get<std::int64_t>());
}
inline void read_field(const Json& json, double& field, const FieldPlace& place) {
  if (!json.is_number()) place.wrong(json, "a number");
  field = json.get<double>();
}
inline void read_field(const Json& json, std::string& field, const FieldPlace& place) {
  if (!json.is_string()) place.wrong(json, "a string");
  field = json.get<std::string>();
}
template <class T> void read_field(const Json& json, std::vector<T>& field, const FieldPlace& place) {
  field.clear();
  if (json.is_null()) return;
  if (!json.is_array()) place.wrong(json, "an array");
  for (const Json& element : json) read_field(element, field.emplace_back(), place);
}
template <class T> void read_field(const Json& json, std::map<std::string, T>& field, const FieldPlace& place) {
  if (!json.is_object()) place.wrong(json, "an object");
  field.clear();
  for (const auto& [name, value] : json.items()) read_field(value, field[name], place);
}
template <class T> void read_field(const Json& json, std::optional<T>& field, const FieldPlace& place) {
  if (json.is_null()) return field.reset();
  T value{};
  read_field(json, value, place);
  field = value;
}
inline void read_field(const Json& json, Integers& field, const FieldPlace& place) {
  std::vector<std::int64_t> numbers;
  if (json.is_array())
    read_field(json, numbers, place);
  else if (!json.is_null())
    read_field(json, numbers.emplace_back(), place);
  field = std::move(numbers);
}
inline void read_field(const Json& json, Doubles& field, const FieldPlace& place) {
  std::vector<double> numbers;
  if (json.is_array())
    read_field(json, numbers, place);
  else if (!json.is_null())
    read_field(json, numbers.emplace_back(), place);
  field = std::move(numbers);
}
/// A number, or an array of numbers and of arrays of them.
inline void read_field(const Json& json, Margins& field, const FieldPlace& place) {
  std::vector<Integers> entries;
  if (json.is_array())
    read_field(json, entries, place);
  else
    read_field(json, entries.emplace_back(), place);
  field = std::move(entries);
}
inline void read_field(const Json& json, TextStep& field, const FieldPlace& place) {
  if (json.is_null()) return void(field = {});
  if (!json.is_string()) place.wrong(json, "a name");
  field = json.get<std::string>();
}
inline void read_field(const Json& json, NgramSizes& field, const FieldPlace& place) {
  Integers sizes;
  read_field(json, sizes, place);
  field = json.is_number() ? NgramSizes(sizes.all().front()) : NgramSizes(sizes.all());
}
inline void read_field(const Json& json, MaskValue& field, const FieldPlace& place) {
  if (json.is_null()) return void(field = {});
  if (json.is_string()) return void(field = json.get<std::string>());
  std::int64_t number = 0;
  read_field(json, number, place);
  field = number;
}
/// An array of extents, or the only extent. null is an unknown extent, -1.
inline void read_field(const Json& json, Shape& field, const FieldPlace& place) {
  if (json.is_number()) return read_field(Json::array({json}), field, place);
  if (!json.is_array() || json.size() > Shape::max_rank) place.wrong(json, "an array of extents");
  field = {};
  for (const Json& extent : json) {
    std::int64_t number = -1;
    if (!extent.is_null()) read_field(extent, number, place);
    field.append(number);
  }
}
/// A number, nested lists of numbers, or Keras 3's form of an array: {"class_name": "__numpy__", "config": {"value":
/// [...], "dtype": ...}}.
void read_field(const Json& json, initializers::ConstantValue& field, const FieldPlace& place);
Json field_json(const initializers::ConstantValue& field, const FieldPlace& place);
/// The name of a function of Keras: {"module": "builtins", "class_name": "function", "config": "relu", …}; null for
/// other JSON.
const Json* function_in(const Json& json);
/// The form of a function that is registered in Keras.
Json function_json(const std::string& name);
inline void read_field(const Json& json, Activation& field, const FieldPlace& place) {
  if (json.is_null()) return void(field = {});
  if (const Json* name = function_in(json)) return read_field(*name, field, place);
  if (!json.is_string()) place.wrong(json, "an activation's name");
  field = json.get<std::string>();
  if (field.name() == keras2_hard_sigmoid) register_keras2_hard_sigmoid();
}
template <class T> void read_field(const Json& json, Choice<T>& field, const FieldPlace& place) {
  if (json.is_null()) return void(field = {});
  if (const Json* name = function_in(json)) return read_field(*name, field, place);
  if (!json.is_string() && !json.is_object()) place.wrong(json, "a name, or a class and its config");
  field = json.is_string() ? Choice<T>(json.get<std::string>()) : Choice<T>(object_from_json<T>(json));
}
template <std::derived_from<AutoChoice> T> void read_field(const Json& json, T& field, const FieldPlace& place) {
  if (json.is_null()) return;
  if (!json.is_boolean() && json != "auto") place.wrong(json, "true, false or \"auto\"");
  field = json.is_boolean() ? T(json.get<bool>()) : T("auto");
}
/// Initial weights are not part of configs.
inline void read_field(const Json& json, Tensor&, const FieldPlace& place) {
  if (!json.is_null()) place.wrong(json, "null, because weights are not part of configs");
}
inline void read_field(const Json& json, LayerPtr& field, const FieldPlace& place) {
  if (json.is_null()) return void(field = nullptr);
  if (!json.is_object()) place.wrong(json, "a layer's class and its config");
  field = object_from_json<Layer>(json);
}
inline void read_field(const Json& json, LearningRate& field, const FieldPlace& place) {
  if (json.is_object()) return void(field = object_from_json<LearningRateSchedule>(json));
  double number = 0;
  read_field(json, number, place);
  field = number;
}

/// An array of metrics, or one.
inline void read_field(const Json& json, MetricList& field, const FieldPlace& place) {
  std::vector<Choice<Metric>> all;
  if (!json.is_null()) read_field(json.is_array() ? json : Json::array({json}), all, place);
  field = MetricList(std::move(all));
}
/// Whether it is the value of one output, rather than nested values.
template <class T> bool is_for_one_output(const Json& json) {
  const auto is_object = [](const Json& each) { return each.contains("class_name"); };
  if (std::is_same_v<T, MetricList> && json.is_array())
    return std::ranges::all_of(json, [&](const Json& each) { return !each.is_structured() || is_object(each); });
  return is_object(json);
}
/// One value for all outputs, an array with one for each, or nested objects and arrays.
template <class T> void read_field(const Json& json, PerOutput<T>& field, const FieldPlace& place) {
  if (json.empty()) return void(field = PerOutput<T>());  // null, too
  const Leaves leaves = leaves_of(json, is_for_one_output<T>);
  std::vector<T> values(leaves.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) read_field(*leaves.values[i], values[i], place);
  if (leaves.paths.front().empty()) return void(field = PerOutput<T>(std::move(values.front())));
  if (leaves.listed()) return void(field = PerOutput<T>(std::move(values)));
  std::map<std::string, T> named;
  for (std::size_t i = 0; i < values.size(); ++i) named.emplace(leaves.paths[i], std::move(values[i]));
  field = PerOutput<T>(std::move(named));
}
/// An array for all outputs, an array of arrays, or an object by their names.
inline void read_field(const Json& json, MetricChoices& field, const FieldPlace& place) {
  if (json.is_array() && is_for_one_output<MetricList>(json)) {
    MetricList all;
    read_field(json, all, place);
    field = MetricChoices(std::move(all));
  } else {
    read_field(json, static_cast<PerOutput<MetricList>&>(field), place);
  }
}

template <class T>
  requires std::is_arithmetic_v<T> || std::is_same_v<T, std::string>
Json field_json(const T& field, const FieldPlace&) {
  return field;
}
inline Json field_json(const Integers& field, const FieldPlace&) {
  if (field.empty()) return nullptr;
  return field.all().size() == 1 ? Json(field.all().front()) : Json(field.all());
}
inline Json field_json(const Margins& field, const FieldPlace& place) {
  if (field.entries().size() == 1) return field_json(field.entries().front(), place);
  Json json = Json::array();
  for (const Integers& entry : field.entries()) json.push_back(field_json(entry, place));
  return json;
}
inline Json field_json(const Doubles& field, const FieldPlace&) {
  if (field.empty()) return nullptr;
  return field.all().size() == 1 ? Json(field.all().front()) : Json(field.all());
}
inline Json field_json(const Shape& field, const FieldPlace&) {
  Json json = Json::array();
  for (const std::int64_t extent : field) json.push_back(extent < 0 ? Json(nullptr) : Json(extent));
  return json;
}
inline Json field_json(const TextStep& field, const FieldPlace& place) {
  check(!field.function(), ErrorKind::value, place.class_name, place.field,
        " is a function - expected a name, because code is not saved - pass a name.");
  return field.empty() ? Json(nullptr) : Json(field.name());
}
inline Json field_json(const NgramSizes& field, const FieldPlace&) {
  if (field.up_to()) return *field.up_to();
  return field.sizes().empty() ? Json(nullptr) : Json(field.sizes());
}
inline Json field_json(const MaskValue& field, const FieldPlace&) {
  return field.text() ? Json(*field.text()) : field.number() ? Json(*field.number()) : Json(nullptr);
}
template <class T> Json field_json(const std::optional<T>& field, const FieldPlace& place) {
  return field ? field_json(*field, place) : Json(nullptr);
}
inline Json field_json(const Activation& field, const FieldPlace& place) {
  check(!field.is_function(), ErrorKind::value, place.class_name, place.field,
        " is a function - expected a named activation, because code is not saved - pass a name.");
  if (is_registered_name(field.name())) return function_json(field.name());
  return field.name().empty() ? "linear" : field.name();
}
template <class T> Json field_json(const Choice<T>& field, const FieldPlace&) {
  if (field.empty()) return nullptr;
  return field.object() ? object_to_json<T>(*field.object()) : Json(field.name());
}
inline Json field_json(const JitCompile& field, const FieldPlace&) {
  return field.given() ? Json(*field.given()) : Json("auto");
}
inline Json field_json(const LayerPtr& field, const FieldPlace&) {
  return field ? object_to_json<Layer>(*field) : Json(nullptr);
}
/// Keras takes an empty list of numbers or texts as one that was passed, and null as the default.
template <class T> Json field_json(const std::vector<T>& field, const FieldPlace& place) {
  if (field.empty() && (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)) return nullptr;
  Json json = Json::array();
  for (const T& element : field) json.push_back(field_json(element, place));
  return json;
}
template <class T> Json field_json(const std::map<std::string, T>& field, const FieldPlace& place) {
  Json json = Json::object();
  for (const auto& [name, value] : field) json[name] = field_json(value, place);
  return json;
}
template <class T> Json field_json(const PerOutput<T>& field, const FieldPlace& place) {
  if (field.one()) return field_json(*field.one(), place);
  if (!field.list().empty()) return field_json(field.list(), place);
  std::vector<std::string> paths;
  Json values = Json::array();
  for (const auto& [path, value] : field.named()) {
    paths.push_back(path);
    values.push_back(field_json(value, place));
  }
  return nested(paths, std::move(values));
}
inline Json field_json(const LearningRate& field, const FieldPlace&) {
  return field.schedule() ? object_to_json<LearningRateSchedule>(*field.schedule()) : Json(field.number());
}

/// Sets options to the config's values of the same names. Throws Error(value) for other names; options that only Keras
/// has are accepted if they are null.
void read_config(std::span<const Field> fields, void* options, const std::string& class_name, const Json& config);
/// All options by name.
Json config_of(std::span<const Field> fields, void* options, const std::string& class_name);

/// The same for options of a known type.
template <HasFields Options> Options options_from_json(const std::string& class_name, const Json& config) {
  Options options;
  read_config(fields_of<Options>, &options, class_name, config);
  return options;
}
template <HasFields Options> Json options_to_json(const std::string& class_name, Options options) {
  return config_of(fields_of<Options>, &options, class_name);
}

}  // namespace etude
