/// Layers of strings.
#include "bind.hpp"
#include "data.hpp"

namespace etude::js {
namespace {

/// Strings, or numbers; a list of them for several features.
struct TextInput : val {};
/// Strings, or an iterator of batches of them.
struct TextData : val {};
/// Integers.
struct TextIndices : val {};
/// Columns, or an iterator of batches of them; and what a FeatureSpace makes of columns.
struct FeatureData : val {};
struct FeatureRows : val {};
/// SymbolicTensors by the names of features.
struct FeatureInputs : val {};
/// Layers by the names of features.
struct FeatureLayers : val {};

/// Appends the strings of nested arrays, whose extents from `depth` on must be those of the first one.
void append_strings(const val& value, std::size_t depth, Shape& shape, std::vector<std::string>& texts,
                    const Where& where) {
  if (!value.isArray()) {
    check(depth == shape.rank(), ErrorKind::shape, where.function, where.what,
          " that mixes strings and arrays - expected nested arrays of one depth - check the data.");
    return texts.push_back(from_js<std::string>(value, where));
  }
  const auto length = value["length"].as<unsigned>();
  if (depth == shape.rank() && texts.empty()) shape.append(length);
  check(depth < shape.rank() && shape[static_cast<std::ptrdiff_t>(depth)] == length, ErrorKind::shape, where.function,
        where.what, " with arrays of different lengths - expected equal ones - check the data.");
  for (unsigned i = 0; i < length; ++i) append_strings(value[i], depth + 1, shape, texts, where);
}

/// The strings of the axes from `axis` on, from `next` on.
val nested(const Strings& strings, std::size_t axis, std::size_t& next) {
  if (axis == strings.shape().rank()) return val(strings.texts()[next++]);
  val result = val::array();
  for (std::int64_t i = 0; i < strings.shape()[static_cast<std::ptrdiff_t>(axis)]; ++i)
    result.call<void>("push", nested(strings, axis + 1, next));
  return result;
}

/// Numbers; those of arrays as int32 if they are whole, because float32 does not hold every integer.
Tensor numbers_in(const val& value, const Where& where) {
  const Tensor floats = from_js<Tensor>(value, where);
  if (!value.isArray() && !value.isNumber()) return floats;
  const val flat = val::array(std::vector<val>{value}).call<val>("flat", HUGE_VAL);
  if (!flat.call<bool>("every", val::global("Number")["isInteger"])) return floats;
  for (std::int64_t i = 0; i < floats.size(); ++i)
    check(std::abs(floats.at(i)) < 0x1p31, ErrorKind::data, where.function, "the number ", floats.at(i),
          " - expected integers of the range of int32 - pass others as strings.");
  return from_js<Tensor>(val::global("Int32Array").call<val>("from", flat), where).reshape(floats.shape());
}

/// The first element within nested arrays.
val first_in(val value) {
  for (std::size_t depth = 0; depth <= Shape::max_rank && value.isArray() && value["length"].as<unsigned>() > 0;
       ++depth)
    value = value[0];
  return value;
}

}  // namespace

template <> struct Conversion<Strings> {
  static Strings from(const val& value, const Where& where) {
    Shape shape;
    std::vector<std::string> texts;
    append_strings(value, 0, shape, texts, where);
    return {shape, std::move(texts)};
  }
  static val to(const Strings& strings) {
    std::size_t next = 0;
    return nested(strings, 0, next);
  }
  static std::string given() { return "TextLike"; }
  static std::string made() { return "TextLike"; }
};
template <> struct Conversion<StringsOrTensor> {
  static StringsOrTensor from(const val& value, const Where& where) {
    const val first = first_in(value);
    if (first.isString() || first.isArray()) return from_js<Strings>(value, where);
    return numbers_in(value, where);
  }
};
template <> struct Conversion<TextInput> {
  static TextInput from(const val& value, const Where&) { return {value}; }
  static std::string given() { return "TextInput"; }
};
template <> struct Conversion<TextIndices> {
  static TextIndices from(const val& value, const Where&) { return {value}; }
  static std::string given() { return "TensorLike"; }
};
template <> struct Conversion<TextData> {
  static TextData from(const val& value, const Where&) { return {value}; }
  static std::string given() { return "TextLike | Iterable<TextLike> | AsyncIterable<TextLike>"; }
};

/// A type, or options.
template <> struct Conversion<Feature> {
  static Feature from(const val& value, const Where& where) {
    Feature feature;
    if (value.isString())
      feature.type = value.as<std::string>();
    else
      read_options(fields_of<Feature>, &feature, value, where);
    return feature;
  }
  static std::string given() { return "string | " + declared_options<Feature>(); }
};
/// Names, or options.
template <> struct Conversion<FeatureCross> {
  static FeatureCross from(const val& value, const Where& where) {
    FeatureCross cross;
    if (value.isArray())
      cross.feature_names = from_js<std::vector<std::string>>(value, where);
    else
      read_options(fields_of<FeatureCross>, &cross, value, where);
    return cross;
  }
  static std::string given() { return "readonly string[] | " + declared_options<FeatureCross>(); }
};
/// Numbers and names are rows; crosses are read here, because options of layers have none.
template <> struct Conversion<FeatureSpaceOptions> {
  static FeatureSpaceOptions from(const val& value, const Where& where) {
    FeatureSpaceOptions options;
    val others = value;
    if (is_dictionary(value)) {
      others = val::object();
      for (const std::string& key : keys(value))
        if (key == "crosses")
          options.crosses = from_js<std::vector<FeatureCross>>(value[key], where.of(key));
        else
          others.set(key, value[key]);
    }
    read_options(fields_of<FeatureSpaceOptions>, &options, others, where);
    return options;
  }
  static std::string given() {
    return declared_options<FeatureSpaceOptions>() + " & { crosses?: readonly (" + Conversion<FeatureCross>::given() +
           ")[] }";
  }
};
template <> struct Conversion<FeatureData> {
  static FeatureData from(const val& value, const Where&) { return {value}; }
  static std::string given() {
    return "Record<string, TextInput> | Iterable<Record<string, TextInput>> | AsyncIterable<Record<string, TextInput>>";
  }
};
template <> struct Conversion<FeatureRows> {
  static val to(const FeatureRows& rows) { return rows; }
  static std::string made() { return "Tensor | Record<string, Tensor>"; }
};
template <> struct Conversion<FeatureInputs> {
  static val to(const FeatureInputs& inputs) { return inputs; }
  static std::string made() { return "Record<string, SymbolicTensor>"; }
};
template <> struct Conversion<FeatureLayers> {
  static val to(const FeatureLayers& layers) { return layers; }
  static std::string made() { return "Record<string, LayerLike>"; }
};
template <> struct Conversion<FeatureColumns> {
  static FeatureColumns from(const val& value, const Where& where) {
    if (!is_dictionary(value))
      where.wrong(value, "an object of columns, such as {age: [31, 54]}", "pass columns by their names");
    FeatureColumns columns;
    for (const std::string& key : keys(value))
      columns.emplace(key, from_js<StringsOrTensor>(value[key], where.of(where.what + '.' + key)));
    return columns;
  }
  static std::string given() { return "Record<string, TextInput>"; }
};

namespace {

/// An object with these members.
template <class Result, class T> Result by_name(const std::map<std::string, T>& members) {
  Result result{val::object()};
  for (const auto& [name, member] : members) result.set(name, to_js(member));
  return result;
}

FeatureRows call_space(const FeatureSpace& space, const FeatureColumns& data) {
  if (space.concatenates()) return {to_js(space(data))};
  return by_name<FeatureRows>(space.encoded(data));
}

Task<val> adapt(std::shared_ptr<FeatureSpace> space, val data) {
  const Where where{"FeatureSpace.adapt", "data"};
  if (is_dictionary(data)) {
    space->adapt(from_js<FeatureColumns>(data, where));
    co_return val::undefined();
  }
  const val items = call_host("itemsOf", data);
  if (items.isNull()) where.wrong(data, "columns, or an iterator of batches of them", "pass an object of columns");
  JavaScriptIterator batches(items);
  space->reset_state();
  for (;;) {
    PendingPtr pending = batches.fetch();
    if (pending) co_await std::move(pending);
    const val batch = batches.consume();
    if (batch.isNull()) break;
    space->update_state(from_js<FeatureColumns>(batch, where.of("a batch")));
  }
  space->finalize_state();
  co_return val::undefined();
}

Tensor call_layer(StringLayer& layer, const val& x) {
  const Where where{"StringLayer.call", "x"};
  const val first = first_in(x);
  if (Conversion<Value>::is(first) || Conversion<SymbolicTensor>::is(first)) layer.call({}, false);  // throws
  if (layer.takes_list()) return layer.compute(from_js<std::vector<StringsOrTensor>>(x, where));
  return layer.compute({from_js<StringsOrTensor>(x, where)});
}

Task<val> adapt(std::shared_ptr<VocabularyLayer> layer, val data) {
  const Where where{"VocabularyLayer.adapt", "data"};
  if (data.isString() || data.isArray()) {
    layer->adapt(from_js<Strings>(data, where));
    co_return val::undefined();
  }
  const val items = call_host("itemsOf", data);
  if (items.isNull()) where.wrong(data, "strings, or an iterator of batches of them", "pass an array of strings");
  JavaScriptIterator batches(items);
  layer->reset_state();
  for (;;) {
    PendingPtr pending = batches.fetch();
    if (pending) co_await std::move(pending);
    const val batch = batches.consume();
    if (batch.isNull()) break;
    layer->update_state(from_js<Strings>(batch, where.of("a batch")));
  }
  layer->finalize_state();
  co_return val::undefined();
}

}  // namespace

EMSCRIPTEN_BINDINGS(text) {
  if (in_worker()) return;
  auto strings = held<StringLayer, emscripten::base<Layer>>();
  method<"StringLayer.call(x)", [](StringLayer& self, TextInput x) { return call_layer(self, x); }>(strings);

  auto vocabulary = held<VocabularyLayer, emscripten::base<StringLayer>>();
  method<"VocabularyLayer.adapt(data)", [](VocabularyLayer& self, TextData data) {
    return MethodTask{adapt(std::static_pointer_cast<VocabularyLayer>(self.shared_from_this()), data)};
  }>(vocabulary);
  method<"VocabularyLayer.get_vocabulary(include_special_tokens?)", [](VocabularyLayer& self, std::optional<bool> all) {
    return self.get_vocabulary(all.value_or(true));
  }>(vocabulary);
  method<"VocabularyLayer.set_vocabulary(vocabulary, idf_weights?)",
         [](VocabularyLayer& self, std::vector<std::string> tokens, std::vector<double> weights) {
           self.set_vocabulary(tokens, weights);
         }>(vocabulary);
  method<"VocabularyLayer.vocabulary_size()", [](VocabularyLayer& self) { return self.vocabulary_size(); }>(vocabulary);
  method<"VocabularyLayer.strings_of(indices)", [](VocabularyLayer& self, TextIndices indices) {
    return self.strings_of(numbers_in(indices, {"VocabularyLayer.strings_of", "indices"}));
  }>(vocabulary);

  auto space = held<FeatureSpace>();
  method<"FeatureSpace.adapt(data)",
         [](FeatureSpace& self, FeatureData data) { return MethodTask{adapt(self.shared_from_this(), data)}; }>(space);
  method<"FeatureSpace.call(data)", [](FeatureSpace& self, FeatureColumns data) { return call_space(self, data); }>(
      space);
  property<"FeatureSpace.preprocessors",
           [](FeatureSpace& self) { return by_name<FeatureLayers>(self.preprocessors()); }>(space);
  method<"FeatureSpace.get_inputs()", [](FeatureSpace& self) { return by_name<FeatureInputs>(self.get_inputs()); }>(
      space);
  method<"FeatureSpace.get_encoded_features()", [](FeatureSpace& self) { return self.get_encoded_features(); }>(space);
  bind<"utils.feature_space(features, options?)",
       [](std::map<std::string, Feature> features, FeatureSpaceOptions options) {
         options.features = std::move(features);
         return std::make_shared<FeatureSpace>(std::move(options));
       }>();
}

}  // namespace etude::js
