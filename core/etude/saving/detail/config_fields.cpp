#include "etude/saving/detail/config_fields.hpp"

#include <algorithm>
#include <cmath>

#include "etude/constraints/constraint.hpp"
#include "etude/layers/recurrent.hpp"
#include "etude/losses/loss.hpp"
#include "etude/optimizers/optimizer.hpp"
#include "etude/regularizers/regularizer.hpp"
#include "etude/saving/detail/keras_form.hpp"

namespace etude {
namespace {

/// The functions that read and write options of a type. Options that are not written are not part of configs.
struct JsonType {
  FieldType type;
  void (*read)(const Json& json, void* option, const FieldPlace& place);
  Json (*write)(const void* option, const FieldPlace& place);
};

template <class T>
constexpr JsonType json_type{
    field_type<T>,
    [](const Json& json, void* option, const FieldPlace& place) { read_field(json, *static_cast<T*>(option), place); },
    [](const void* option, const FieldPlace& place) { return field_json(*static_cast<const T*>(option), place); }};

template <class T>
constexpr JsonType read_only{
    field_type<T>,
    [](const Json& json, void* option, const FieldPlace& place) { read_field(json, *static_cast<T*>(option), place); },
    nullptr};

/// The types of all options of classes.
constexpr JsonType json_types[] = {json_type<bool>,
                                   json_type<std::int64_t>,
                                   json_type<std::ptrdiff_t>,
                                   json_type<double>,
                                   json_type<std::string>,
                                   json_type<std::optional<std::int64_t>>,
                                   json_type<std::optional<double>>,
                                   json_type<Integers>,
                                   json_type<Margins>,
                                   json_type<Doubles>,
                                   json_type<Shape>,
                                   json_type<std::optional<Shape>>,
                                   json_type<std::vector<std::int64_t>>,
                                   json_type<std::vector<double>>,
                                   json_type<std::vector<std::string>>,
                                   json_type<std::optional<std::string>>,
                                   json_type<LayerPtr>,
                                   json_type<std::vector<LayerPtr>>,
                                   json_type<Activation>,
                                   json_type<Choice<Initializer>>,
                                   json_type<Choice<Regularizer>>,
                                   json_type<Choice<Constraint>>,
                                   json_type<Choice<Optimizer>>,
                                   json_type<std::map<std::string, Choice<Optimizer>>>,
                                   json_type<std::optional<std::map<std::string, double>>>,
                                   json_type<LearningRate>,
                                   json_type<TextStep>,
                                   json_type<NgramSizes>,
                                   json_type<MaskValue>,
                                   json_type<initializers::ConstantValue>,
                                   json_type<JitCompile>,
                                   read_only<UseCudnn>,
                                   read_only<Tensor>,
                                   json_type<PerOutput<Choice<Loss>>>,
                                   json_type<PerOutput<double>>,
                                   json_type<MetricChoices>};

const JsonType& type_of(const Field& field, const FieldPlace& place) {
  const auto* found = std::ranges::find(json_types, field.type, &JsonType::type);
  check(found != std::end(json_types), ErrorKind::state, place.class_name, place.field,
        " has a type without JSON form - expected a type of config_fields.cpp - add it there.");
  return *found;
}

}  // namespace

const Json* function_in(const Json& json) {
  if (!json.is_object()) return nullptr;
  const auto class_name = json.find("class_name"), name = json.find("config");
  const bool is_function = class_name != json.end() && *class_name == "function" && name != json.end();
  return is_function && name->is_string() ? &*name : nullptr;
}

Json function_json(const std::string& name) {
  Json json = Json::object();
  for (const auto& [member, value] : {std::pair("module", "builtins"),
                                      {"class_name", "function"},
                                      {"config", name.c_str()},
                                      {"registered_name", "function"}})
    add_member(json, member, value);
  return json;
}

void read_config(std::span<const Field> fields, void* options, const std::string& class_name, const Json& given) {
  const Json config = present_config(fields, class_name, given);
  std::size_t used = 0;
  for (const Field& field : fields) {
    const auto found = config.find(field.name);
    if (found == config.end()) continue;
    ++used;
    const FieldPlace place{class_name, field.name};
    type_of(field, place).read(*found, field.member(options), place);
  }
  if (used == config.size()) return;
  std::string known;
  for (const Field& field : fields) known.append(known.empty() ? "" : ", ").append(field.name);
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(fields, [&](const Field& field) { return name == field.name; });
  };
  for (const auto& [name, value] : config.items())
    check(value.is_null() || is_known(name), ErrorKind::value, class_name, "config field \"", name,
          "\" - expected one of: ", known, " - leave it out.");
}

namespace {

/// JSON has no infinities: text of one could not be read.
void check_finite(const Json& json, const FieldPlace& place) {
  if (json.is_structured())
    for (const Json& each : json) check_finite(each, place);
  if (json.is_number_float() && !std::isfinite(json.get<double>())) place.wrong(json, "a finite number");
}

}  // namespace

Json config_of(std::span<const Field> fields, void* options, const std::string& class_name) {
  Json config = Json::object();
  for (const Field& field : fields) {
    const FieldPlace place{class_name, field.name};
    if (const auto write = type_of(field, place).write)
      check_finite(config[field.name] = write(field.member(options), place), place);
  }
  return config;
}

}  // namespace etude
