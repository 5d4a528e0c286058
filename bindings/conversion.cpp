#include "conversion.hpp"

#include <algorithm>

#include "dicts.hpp"
#include "user_functions.hpp"

namespace etude::js {
namespace {

val bytes_of(const std::byte* data, std::size_t size) {
  return val(emscripten::typed_memory_view(size, reinterpret_cast<const unsigned char*>(data)));
}

/// The Values that JavaScript refers to by number; the first has the number first_id.
std::vector<Value> traced;
double first_id = 0;
int scopes = 0;

val values_to_js(const std::vector<Value>& values, const std::vector<std::string>& names) {
  return values.empty() ? val::undefined() : to_js(Outputs(values, names));
}
/// The Values of an array. With `gaps`, null stands for one that is absent.
std::vector<Value> values_in(const val& value, const Where& where, bool gaps) {
  if (!value.isArray()) where.wrong(value, "an array of Values", "put it into [ ]");
  std::vector<Value> result;
  const auto length = value["length"].as<unsigned>();
  for (unsigned i = 0; i < length; ++i)
    result.push_back(gaps && value[i].isNull()
                         ? Value{}
                         : from_js<Value>(value[i], where.of(where.what + '[' + std::to_string(i) + ']')));
  return result;
}

/// One Value, or those in lists and objects.
Outputs outputs_in(const val& value, const Where& where, bool gaps) {
  if (!is_dictionary(value) && !value.isArray()) return from_js<Value>(value, where);
  Flat values = flat(value);
  return {values_in(values.values, where, gaps), std::move(values.names)};
}

/// Puts the names of an object to `names`. An output without weights has null.
std::vector<Value> values_from_js(const val& value, const Where& where, std::vector<std::string>& names) {
  if (value.isUndefined() || value.isNull()) return {};
  const Outputs values = outputs_in(value, where, true);
  names = values.names();
  return values;
}

/// The object of web whose functions it calls; undefined if there is none.
val object_of(const UserObject* user) { return user ? user->functions().object() : val::undefined(); }

/// A running function of a custom class; those that it calls are nested.
class Nested {
 public:
  explicit Nested(const char* name) {
    check(depth < limit, ErrorKind::value, name, "called within ", depth,
          " functions of custom classes - expected at most ", limit, " - let it not call itself.");
    ++depth;
  }
  ~Nested() { --depth; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  static constexpr int limit = 100;
  static inline int depth = 0;
};

}  // namespace

void Where::wrong(const val& came, std::string_view expected, std::string_view advice) const {
  fail(ErrorKind::value, function, what, what.empty() ? "" : " = ", describe(came), " - expected ", expected, " - ",
       advice, '.');
}

void Where::wrong_class(const val& came, const std::string& name) const {
  wrong(came, "one of class " + name,
        std::string("make one by et.") + static_cast<char>(std::tolower(name[0])) + name.substr(1) +
            (name.ends_with('s') ? "es.…" : "s.…"));
}

std::string Conversion<std::string>::from(const val& value, const Where& where) {
  if (!value.isString()) where.wrong(value, "a string", "pass one");
  std::string text = value.as<std::string>();
  const bool paired = std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0xF0; });
  if (paired && !val(text).strictlyEquals(value))
    where.wrong(value, "a string of whole characters", "it holds half of a surrogate pair; see where it is cut");
  return text;
}

bool is_of_class(const val& value, const std::string& name) {
  return value.instanceof(val::module_property(name.c_str()));
}

std::string last_name(std::string_view signature) {
  signature = signature.substr(signature.rfind(' ') + 1);
  signature.remove_suffix(1);
  return std::string(signature.substr(signature.rfind(':') + 1));
}

std::vector<std::string> keys(const val& object, const Where& where) {
  if (!is_dictionary(object)) where.wrong(object, "an object", "write {name: value}");
  return keys(object);
}
std::vector<std::string> keys(const val& object) {
  return from_js<std::vector<std::string>>(val::global("Object").call<val>("keys", object), {"keys", "a key"});
}

Flat flat(const val& value, const char* how) {
  const val made = call_host(how, value);
  return {from_js<std::vector<std::string>>(made["names"], {"names", "a name"}), made["values"]};
}
val packed(const std::vector<std::string>& names, const val& values) { return call_host("pack", to_js(names), values); }

val listed(const Layer& layer, const val& value, std::vector<std::string>* call_names) {
  if (!is_dictionary(value) && !value.isArray()) return value;
  Flat given = flat(value, "flattenData");
  if (given.names.empty()) return value;
  std::vector<std::string> inputs;
  if (const auto* model = dynamic_cast<const Model*>(&layer)) inputs = model->input_names();
  if (inputs.empty() && call_names) {
    *call_names = std::move(given.names);
    return given.values;
  }
  val result = val::array();
  for (const std::ptrdiff_t place : places_of(given.names, inputs, "x", true))
    result.call<void>("push", given.values[static_cast<unsigned>(place)]);
  return result;
}

val handle_of(const val& value) {
  const val handle = type_of(value) == "object" && !value.isNull() ? value["handle"] : val::undefined();
  return handle.isUndefined() ? value : handle;
}

std::shared_ptr<void> keep(const val& value, std::shared_ptr<void> object) {
  struct Kept {
    val value;
    std::shared_ptr<void> object;
  };
  return std::make_shared<Kept>(value, std::move(object));
}
std::shared_ptr<void> keep_complete(const val& value, const val& handle, std::shared_ptr<void> object) {
  if (value.strictlyEquals(handle)) return object;
  call_host("checkComplete", value);
  return keep(value, std::move(object));
}

template <> LayerPtr Conversion<LayerPtr>::from(const val& value, const Where& where) {
  if (const val handle = handle_of(value); !value.strictlyEquals(handle) && is(handle)) {
    const bool is_model = is_of_class(handle, "Model");
    const LayerPtr layer = is_model ? LayerPtr(from_js<ModelPtr>(handle, where)) : from_js<LayerPtr>(handle, where);
    return {keep(value, layer), layer.get()};
  }
  if (!is(value)) where.wrong(value, "a layer", "make one, such as et.layers.dense({units: 10})");
  return value.as<LayerPtr>();
}
template <> val Conversion<OptimizerPtr>::to(const OptimizerPtr& optimizer) {
  const val object = object_of(dynamic_cast<const UserObject*>(optimizer.get()));
  return object.isUndefined() ? val(optimizer) : object;
}
template <> val Conversion<LayerPtr>::to(const LayerPtr& layer) {
  if (const val object = object_of(dynamic_cast<const UserLayer*>(layer.get())); !object.isUndefined()) return object;
  if (const auto recurrent = std::dynamic_pointer_cast<Recurrent>(layer)) return val(recurrent);
  if (const auto attention = std::dynamic_pointer_cast<MultiHeadAttention>(layer)) return val(attention);
  if (const auto attention = std::dynamic_pointer_cast<GroupedQueryAttention>(layer)) return val(attention);
  if (const auto embedding = std::dynamic_pointer_cast<ReversibleEmbedding>(layer)) return val(embedding);
  if (const auto preprocessing = std::dynamic_pointer_cast<PreprocessingLayer>(layer)) return val(preprocessing);
  if (const auto vocabulary = std::dynamic_pointer_cast<VocabularyLayer>(layer)) return val(vocabulary);
  if (const auto strings = std::dynamic_pointer_cast<StringLayer>(layer)) return val(strings);
  return layer ? val(layer) : val::null();
}

val UserFunctions::call(const char* name, std::initializer_list<val> arguments) const {
  const Autocast cast(autocast);
  const Nested nested(name);
  val list = val::array();
  for (const val& argument : arguments) list.call<void>("push", argument);
  val result = js::call(link, std::string(name), list);
  check(!is_promise(result), ErrorKind::value, name,
        "a promise was returned - expected the result itself, because a step is traced once and then replayed without "
        "JavaScript - make the function synchronous.");
  return result;
}

Variable Conversion<Variable>::from(const val& value, const Where& where) {
  if (!value.instanceof(val::module_property("Variable")))
    where.wrong(value, "a Variable", "take one of model.trainableVariables");
  return *value.as<std::shared_ptr<Variable>>();
}

Shape Conversion<Shape>::from(const val& value, const Where& where) {
  val extents = value.isArray() ? value.call<val>("slice") : value;
  for (int axis = value.isArray() ? value["length"].as<int>() : 0; axis-- > 0;)
    if (extents[axis].isNull()) extents.set(axis, -1);
  return Shape(from_js<std::vector<std::int64_t>>(extents, where));
}

Tensor Conversion<Tensor>::from(const val& value, const Where& where) {
  const val tensor = call_host("tensor", value), bytes = tensor["bytes"];
  Tensor result(from_js<Shape>(tensor["shape"], where), from_js<DType>(tensor["dtype"], where));
  check(bytes["length"].as<double>() == static_cast<double>(result.bytes()), ErrorKind::dtype, where.function,
        "a Tensor of dtype ", result.dtype(), " whose data is ", describe(tensor["data"]), " - expected ",
        result.bytes(), " bytes for its ", result.size(), " elements - make it by et.tensor(), which converts.");
  bytes_of(result.raw(), result.bytes()).call<void>("set", bytes);
  return result;
}
/// JavaScript does not have arrays of half precision everywhere, so it gets float32.
val Conversion<Tensor>::to(const Tensor& given) {
  const Tensor tensor = is_half(given.dtype()) ? given.astype(DType::float32) : given;
  const val bytes = call_host("copyOf", bytes_of(tensor.raw(), tensor.bytes()));
  return host("Tensor").call<val>("fromBytes", bytes, to_js(tensor.shape()), to_js(tensor.dtype()));
}

std::vector<std::byte> Conversion<std::vector<std::byte>>::from(const val& value, const Where& where) {
  if (!value.instanceof(val::global("Uint8Array")))
    where.wrong(value, "a Uint8Array", "wrap an ArrayBuffer by new Uint8Array(buffer)");
  std::vector<std::byte> bytes(value["length"].as<unsigned>());
  bytes_of(bytes.data(), bytes.size()).call<void>("set", value);
  return bytes;
}

Batch Conversion<Batch>::from(const val& value, const Where& where) {
  Batch batch{from_js<std::vector<Tensor>>(value["x"], where.of("x")),
              from_js<std::vector<Tensor>>(value["y"], where.of("y")),
              from_js<std::vector<Tensor>>(value["sampleWeight"], where.of("sampleWeight"))};
  const val names = value["names"];
  if (names.isUndefined()) return batch;
  const auto of = [&](const char* group) { return from_js<std::vector<std::string>>(names[group], where); };
  batch.names = std::make_shared<BatchNames>(BatchNames{of("x"), of("y"), of("sampleWeight")});
  return batch;
}

SymbolicTensors Conversion<SymbolicTensors>::from(const val& value, const Where& where) {
  if (Conversion<SymbolicTensor>::is(value)) return std::vector{from_js<SymbolicTensor>(value, where)};
  if (!is_dictionary(value) && !value.isArray()) where.wrong(value, "SymbolicTensors", "put them into [ ] or { }");
  Flat tensors = flat(value);
  return {from_js<std::vector<SymbolicTensor>>(tensors.values, where), std::move(tensors.names)};
}

std::vector<SymbolicTensor> SymbolicInputs::of(const Layer& layer) const {
  const Where where{"apply", "inputs"};
  const val tensors = listed(layer, given, nullptr);
  if (!tensors.isArray()) return {from_js<SymbolicTensor>(tensors, where)};
  return from_js<std::vector<SymbolicTensor>>(tensors, where);
}

val Conversion<Logs>::to(const Logs& logs) {
  val result = val::object();
  for (const auto& [name, value] : logs.values()) result.set(name, value);
  return result;
}
val Conversion<HistoryPtr>::to(const HistoryPtr& history) {
  val series = val::object(), result = val::object();
  for (const auto& [name, values] : history->history()) series.set(name, to_js(values));
  result.set("epoch", to_js(history->epoch()));
  result.set("history", series);
  return result;
}

TraceScope::TraceScope() { ++scopes; }
TraceScope::~TraceScope() {
  if (--scopes > 0) return;
  first_id += static_cast<double>(traced.size());
  traced.clear();
}

Value Conversion<Value>::from(const val& value, const Where& where) {
  if (value.isNumber() && where.like) return ops::scalar(from_js<double>(value, where), where.like);
  if (!is(value))
    where.wrong(value, where.like ? "a Value or a number" : "a Value", "use et.ops, or read() of a Variable");
  const double index = value["id"].as<double>() - first_id;
  check(index >= 0 && index < static_cast<double>(traced.size()), ErrorKind::state, where.function, where.what,
        where.what.empty() ? "" : " = ", describe(value),
        " of another trace - expected a Value of this one - a step is traced again for each batch shape; keep no "
        "Values between traces.");
  return traced[static_cast<std::size_t>(index)];
}
val Conversion<Value>::to(Value value) {
  if (!value) return val::null();
  check(scopes > 0, ErrorKind::state, "Value",
        "a Value outside a step - expected a Value within one - write this inside call, trainStep or a loss.");
  traced.push_back(value);
  return host("Value").new_(first_id + static_cast<double>(traced.size() - 1), to_js(value.shape()),
                            to_js(value.dtype()));
}

Gradients Conversion<Gradients>::from(const val& value, const Where& where) { return {values_in(value, where, true)}; }
std::vector<Value> Conversion<std::vector<Value>>::from(const val& value, const Where& where) {
  return values_in(value, where, false);
}
val Conversion<std::vector<Value>>::to(const std::vector<Value>& values) {
  val result = val::array();
  for (const Value& value : values) result.call<void>("push", to_js(value));
  return result;
}

Outputs Conversion<Outputs>::from(const val& value, const Where& where) { return outputs_in(value, where, false); }
val Conversion<Outputs>::to(const Outputs& outputs) {
  if (outputs.names().empty() && outputs.size() == 1) return to_js(outputs.front());
  const val list = to_js<std::vector<Value>>(outputs);
  return outputs.names().empty() ? list : packed(outputs.names(), list);
}

StepData Conversion<StepData>::from(const val& value, const Where& where) {
  if (type_of(value) != "object" || value.isNull())
    where.wrong(value, "{x, y}, as the step was given it", "pass data on");
  StepData data;
  data.x = values_from_js(value["x"], where.of("x"), data.names.x);
  data.y = values_from_js(value["y"], where.of("y"), data.names.y);
  data.sample_weight = values_from_js(value["sampleWeight"], where.of("sampleWeight"), data.names.sample_weight);
  return data;
}
val Conversion<StepData>::to(const StepData& data) {
  val result = val::object();
  result.set("x", values_to_js(data.x, data.names.x));
  if (!data.y.empty()) result.set("y", values_to_js(data.y, data.names.y));
  if (!data.sample_weight.empty())
    result.set("sampleWeight", values_to_js(data.sample_weight, data.names.sample_weight));
  return result;
}

StepLogs Conversion<StepLogs>::from(const val& value, const Where& where) {
  if (type_of(value) != "object" || value.isNull())
    where.wrong(value, "an object of scalars, such as {loss}", "return model.computeMetrics(data, yPred, loss)");
  StepLogs logs;
  for (const std::string& name : keys(value))
    logs.emplace_back(name, from_js<Value>(value[name], where.of(where.what + '.' + name)));
  return logs;
}
val Conversion<StepLogs>::to(const StepLogs& logs) {
  val result = val::object();
  for (const auto& [name, value] : logs) result.set(name, to_js(value));
  return result;
}

}  // namespace etude::js
