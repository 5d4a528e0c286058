#include "etude/saving/detail/op_config.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/saving/detail/op_arguments.hpp"

namespace etude {
namespace {

std::string where_of(std::string_view class_name, const std::string& name) {
  return std::string(class_name) + " \"" + name + '"';
}

// Constants.

/// The dtype of a constant. Keras's other integers are int32; NumPy's float64 is float32, as on JAX.
DType dtype_of_constant(const Json& json, const std::string& where) {
  const auto dtype = field_in<std::string>(config_in(json), "dtype", where, "float32");
  if (dtype == "float64" && class_name_in(json) == "__numpy__") return DType::float32;
  for (const char* other : {"int8", "int16", "int64", "uint16", "uint32", "uint64"})
    if (dtype == other) return DType::int32;
  return dtype_from_name(dtype);
}

Tensor tensor_of_json(const Json& value, DType dtype, const std::string& where) {
  initializers::ConstantValue read(0.0);
  read_field(value, read, {where, "a constant"});
  const Tensor numbers = read.array() ? read.array() : Tensor::from<double>({}, {read.number()});
  const bool is_byte = dtype == DType::uint8;
  for (std::int64_t i = 0; !is_floating(dtype) && i < numbers.size(); ++i) {
    const double number = numbers.at(i);
    const bool fits =
        number == std::trunc(number) && number >= (is_byte ? 0 : -0x1p31) && number < (is_byte ? 256 : 0x1p31);
    check(fits, ErrorKind::data, where, "the number ", number, " in a constant - expected one that ", dtype,
          " has - create the model in code.");
  }
  return numbers.astype(dtype);
}

void make_whole(Json& json) {
  if (json.is_number()) json = json.get<std::int64_t>();
  if (json.is_array())
    for (Json& each : json) make_whole(each);
}

/// A constant in the form in which it was read, or as a tensor.
Json json_of_constant(const Tensor& tensor, const Json& place, const std::string& where) {
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    check(std::isfinite(tensor.at(i)), ErrorKind::value, where, "the number ", tensor.at(i),
          " in a constant - expected finite ones, because JSON has no others - use a layer in its place.");
  Json value = tensor.shape().rank() == 0 ? Json(tensor.at(0)) : field_json(initializers::ConstantValue(tensor), {});
  if (!is_floating(tensor.dtype())) make_whole(value);
  const std::string form = place.value("as", "__tensor__");
  if (form == "list") return value;
  return {
      {"class_name", form},
      {"config", {{"value", std::move(value)}, {"dtype", place.value("dtype", std::string(name_of(tensor.dtype())))}}}};
}

// From the call of a function to Keras's form.

/// "negativeSlope" -> "negative_slope".
std::string snake_case(const std::string& name) {
  std::string result;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') result += '_';
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

Json default_of(std::string_view value) {
  return value == "floatx" ? Json(std::string(name_of(floatx()))) : Json::parse(value);
}

/// No axes are null, and one axis is a number, as callers of Keras write them.
Json axis_json(std::string_view name, Json value) {
  if (!(name == "axis" || name == "axes") || !value.is_array()) return value;
  if (value.empty()) return nullptr;
  return name == "axis" && value.size() == 1 ? Json(value.front()) : value;
}

Json slice_json(const Json& first, const Json& end) {
  return {{"class_name", "__slice__"}, {"config", {{"start", first}, {"stop", end}, {"step", nullptr}}}};
}
/// The key of entries [first, first + count) of an axis.
Json key_of(const Json& config) {
  const auto axis = config["axis"].get<std::int64_t>(), first = config["first"].get<std::int64_t>();
  Json key = Json::array();
  if (axis < 0) key.push_back({{"class_name", "__ellipsis__"}, {"config", Json::object()}});
  for (std::int64_t i = 0; i < axis; ++i) key.push_back(slice_json(nullptr, nullptr));
  key.push_back(slice_json(first, first + config["count"].get<std::int64_t>()));
  for (std::int64_t i = axis; i < -1; ++i) key.push_back(slice_json(nullptr, nullptr));
  return key;
}

/// An op in Keras's form; tensors are as in OpCall.
Json keras_form(const OpRow& row, Json given, const std::string& where) {
  while (!given.empty() && given.back().is_null()) given.erase(given.size() - 1);
  Json config = Json::object(), arguments = Json::array();
  std::size_t next = 0;
  const auto finite = [&](Json value) {
    const bool is_infinite = value.is_object() && value.contains("number");
    check(!is_infinite, ErrorKind::value, where, "the number ", is_infinite ? value.value("number", "") : "",
          " - expected a finite one, because JSON has no other - use a layer in its place.");
    return value;
  };
  const auto argument = [&] { return next < given.size() ? finite(given[next++]) : Json(); };
  bool has_options = false;
  for (const FormWord& word : words_of(row.form)) {
    const std::string name(word.name);
    if (word.kind == '@') {
      arguments.push_back(argument());
    } else if (word.kind == '!') {
      const Json value = argument();
      check(value.is_null() || value == default_of(word.value), ErrorKind::value, where, "an argument ",
            json_text(value), ", which Keras's ", row.class_name, " does not have - expected ", word.value,
            " - use other ops.");
    } else if (word.kind == '{') {
      has_options = true;
      config[name] = default_of(word.value);
      if (next < given.size())
        for (const auto& [key, value] : given[next].items())
          if (snake_case(key) == name && !value.is_null()) config[name] = finite(value);
    } else {
      const Json value = word.kind == '\0' ? argument() : Json();
      config[name] = value.is_null() ? default_of(word.value) : axis_json(name, value);
    }
  }
  check(next + (has_options ? 1 : 0) >= given.size(), ErrorKind::value, where, given.size(),
        " arguments, of which Keras's ", row.class_name, " has ", next,
        " - expected these alone - use a layer in its "
        "place.");
  if (row.class_name == std::string_view("GetItem")) {
    arguments.push_back(key_of(config));
    config = Json::object();
  }
  Json named = Json::object();
  if (row.class_name == std::string_view("Pad")) {
    // Keras passes it with the call.
    if (!config["constant_values"].is_null()) named["constant_values"] = config["constant_values"];
    config.erase("constant_values");
  }
  return {{"module", row.module},         {"class_name", row.class_name},
          {"config", std::move(config)},  {"registered_name", row.class_name},
          {"args", std::move(arguments)}, {"kwargs", std::move(named)}};
}

Json keras_form(const Operation& op) {
  const std::string where = where_of(op.class_name(), op.name());
  const auto& call = op.saved_call();
  const bool is_read = call && call->function.empty();
  const std::optional<OpRow> row = call && !is_read ? op_row(call->function) : std::nullopt;
  check(is_read || row, ErrorKind::value, where,
        "an op without a config - expected one that Keras has, of tensors, numbers and lists - use a layer in its "
        "place, or save the model's weights instead, and create the model in code.");
  Json json = parse_json(call->arguments, where);
  return is_read ? json : keras_form(*row, std::move(json), where);
}

/// Puts tensors and constants in their places.
Json filled(const Json& json, const Operation& op, const Json& inputs) {
  const std::string where = where_of(op.class_name(), op.name());
  if (json.is_array()) {
    Json result = Json::array();
    for (const Json& each : json) result.push_back(filled(each, op, inputs));
    return result;
  }
  if (!json.is_object()) return json;
  if (json.contains("input")) {
    const auto first = json["input"].get<std::ptrdiff_t>();
    if (!json.contains("count")) return inputs.at(static_cast<std::size_t>(first));
    return Json(inputs.begin() + first, inputs.begin() + first + json["count"].get<std::ptrdiff_t>());
  }
  if (json.contains("constant")) {
    const Tensor value = op.saved_call()->constants.at(json["constant"].get<std::size_t>()).value();
    // An elementwise op casts floats to the dtype of the tensor beside them.
    const DType beside = dtype_from_name(inputs.front()["config"]["dtype"].get_ref<const std::string&>());
    const bool casts = elementwise_op(op.saved_call()->function) && is_floating(value.dtype()) && is_floating(beside);
    return json_of_constant(casts ? value.astype(beside) : value, json, where);
  }
  return json;  // a slice
}

// From Keras's form to a call.

/// Numbers the tensors and constants of the arguments of a call.
class Numbering {
 public:
  Numbering(const std::string& where, std::vector<const Json*>& histories) : where_(where), histories_(histories) {}

  Json numbered(const Json& json) {
    if (json.is_array()) {
      Json result = Json::array();
      for (const Json& each : json) result.push_back(numbered(each));
      return result;
    }
    if (!json.is_object()) return json;
    const std::string& kind = class_name_in(json);
    if (kind == "__keras_tensor__") {
      histories_.push_back(&array_in(config_in(json), "keras_history", where_));
      return {{"input", histories_.size() - 1}};
    }
    if (kind == "__numpy__" || kind == "__tensor__") {
      const auto dtype = field_in<std::string>(config_in(json), "dtype", where_, "float32");
      return constant(tensor_of_json(json, dtype_of_constant(json, where_), where_), {{"as", kind}, {"dtype", dtype}});
    }
    check(kind == "__slice__" || kind == "__ellipsis__", ErrorKind::data, where_, "an operand ", JsonExcerpt{json},
          " - expected tensors, numbers and slices - create the model in code.");
    return {{"class_name", kind}, {"config", config_in(json)}};
  }

  Json constant(const Tensor& value, Json place) {
    place["constant"] = constants.size();
    constants.push_back(detail::op_constant(value));
    return place;
  }

  std::vector<Variable> constants;

 private:
  const std::string& where_;
  std::vector<const Json*>& histories_;
};

/// Whether the value is that of a Keras that lacks the entry.
bool is_absent(const Json& value) { return value.is_null() || value == false; }

void check_entry(const OpRow& row, const std::string& name, const Json& value, const std::string& where) {
  const auto words = words_of(row.form);
  const auto word = std::ranges::find(words, std::string_view(name), &FormWord::name);
  const bool known = word != words.end() && !name.empty();
  const bool fits = known ? word->kind != '~' || is_absent(value) || value == default_of(word->value)
                          : is_absent(value) || name == "name";
  check(fits, ErrorKind::value, where, "the argument ", name, " = ", JsonExcerpt{value},
        ", which is not supported - expected ", known ? std::string(word->value) : "none",
        " - use a layer in its place, or create the model in code.");
}

}  // namespace

Json op_to_json(const Operation& op) {
  Json json = keras_form(op);
  json.erase("args");
  json.erase("kwargs");
  Json config = {{"name", op.name()}};
  config.update(json["config"]);
  json["config"] = std::move(config);
  return json;
}

Json op_node(const Operation& op, const Json& inputs) {
  const Json json = keras_form(op);
  Json named = Json::object();
  for (const auto& [name, value] : json["kwargs"].items()) named[name] = filled(value, op, inputs);
  return {{"args", filled(json["args"], op, inputs)}, {"kwargs", std::move(named)}};
}

std::shared_ptr<Operation> op_from_json(const Json& layer, const Json& node, const std::string& name,
                                        std::vector<const Json*>& histories) {
  const std::string& class_name = class_name_in(layer);
  const std::string where = where_of(class_name, name);
  const std::optional<OpRow> row = op_row_of_class(class_name);
  check(row.has_value(), ErrorKind::value, where,
        "an op of Keras that Étude lacks - expected one such as Add, Sum or Reshape - use a layer in its place.");
  Numbering numbering(where, histories);
  Json arguments = Json::array(), named = Json::object(), config = config_in(layer);
  for (const Json& argument : array_in(node, "args", where)) {
    // Indices are a constant.
    const bool takes = class_name == "Take" || class_name == "TakeAlongAxis";
    const bool indices = takes && arguments.size() == 1 && (argument.is_number() || argument.is_array());
    arguments.push_back(indices ? numbering.constant(tensor_of_json(argument, DType::int32, where), {{"as", "list"}})
                                : numbering.numbered(argument));
  }
  if (const auto found = node.find("kwargs"); found != node.end() && found->is_object())
    for (const auto& [key, value] : found->items()) named[key] = numbering.numbered(value);
  check(!histories.empty(), ErrorKind::data, where,
        "operands without a tensor - expected at least one tensor - check the text.");
  config.erase("name");
  const Json text = {{"module", row->module}, {"class_name", row->class_name},
                     {"config", config},      {"registered_name", row->class_name},
                     {"args", arguments},     {"kwargs", named}};
  for (const Json& entries : {config, named})
    for (const auto& [key, value] : entries.items()) check_entry(*row, key, value, where);
  config.update(named);
  const auto reading =
      std::make_shared<OpReading>(OpReading{*row, where, std::move(config), std::move(arguments), numbering.constants});
  const auto work = [reading](const std::vector<Value>& inputs) {
    return reading->row.build(OpArguments(*reading, inputs));
  };
  return std::make_shared<Operation>(class_name, work, name, OpCall{"", json_text(text), numbering.constants});
}

}  // namespace etude
