#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "golden.hpp"
#include "training_samples.hpp"

// FeatureSpace, against Keras 3: tests/golden/feature_space.json.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::numbers_in;
using testing::shape_in;
using testing::tensor_of;

/// A column of a table, or a single value.
StringsOrTensor column_in(const json& given) {
  const json list = given.is_array() ? given : json::array({given});
  const Shape shape = given.is_array() ? Shape{std::ssize(list)} : Shape{};
  if (list.front().is_string()) return Strings(shape, list.get<std::vector<std::string>>());
  return tensor_of(shape, list.front().is_number_float() ? DType::float32 : DType::int32, numbers_in(list));
}
FeatureColumns columns_in(const json& table) {
  FeatureColumns columns;
  for (const auto& [name, column] : table.items()) columns[name] = column_in(column);
  return columns;
}

FeatureSpaceOptions options_in(const json& test) {
  FeatureSpaceOptions options;
  for (const auto& [name, given] : test.at("features").items()) {
    Feature& feature = options.features[name];
    feature.type = given.at("type");
    feature.output_mode = given.value("output_mode", "");
    feature.scale = given.value("scale", 1.0);
    feature.offset = given.value("offset", 0.0);
    feature.num_oov_indices = given.value("num_oov_indices", std::int64_t{1});
    if (given.contains("num_bins")) feature.num_bins = given.at("num_bins").get<std::int64_t>();
    if (given.contains("max_tokens")) feature.max_tokens = given.at("max_tokens").get<std::int64_t>();
  }
  const json& config = test.at("config");
  options.output_mode = config.value("output_mode", "concat");
  options.crossing_dim = config.value("crossing_dim", std::int64_t{32});
  options.hashing_dim = config.value("hashing_dim", std::int64_t{32});
  options.num_discretization_bins = config.value("num_discretization_bins", std::int64_t{32});
  for (const json& given : config.value("crosses", json::array())) {
    if (given.is_array()) {
      options.crosses.push_back({.feature_names = given.get<std::vector<std::string>>()});
      continue;
    }
    options.crosses.push_back({.feature_names = given.at("feature_names").get<std::vector<std::string>>(),
                               .crossing_dim = given.at("crossing_dim").get<std::int64_t>(),
                               .output_mode = given.value("output_mode", "one_hot")});
  }
  return options;
}

void check_equal(const Tensor& y, const json& expected) {
  CHECK(y.shape() == shape_in(expected.at("shape")));
  CHECK(is_floating(y.dtype()) == (expected.at("dtype") == "float32"));
  CHECK(testing::difference(numbers(y), numbers_in(expected.at("numbers")), {1e-5, 1e-5}) == "");
}

/// Five rows of a number and a word.
FeatureColumns table() {
  return {{"size", Tensor::from<float>({5}, {1, 2, 3, 4, 5})}, {"word", Strings{"a", "b", "a", "c", "a"}}};
}

}  // namespace

TEST_CASE("FeatureSpace encodes tables as Keras does, concatenated or by name, of many rows or one", "[text]") {
  const json golden = testing::golden("feature_space.json");
  for (const json& test : golden.at("cases")) {
    CAPTURE(test.at("config").dump());
    FeatureSpace space(options_in(test));
    space.adapt(columns_in(golden.at("rows")));
    const FeatureColumns query = columns_in(test.at("query"));
    const json& y = test.at("y");
    if (space.concatenates()) {
      check_equal(space(query), y);
    } else {
      const std::map<std::string, Tensor> encoded = space.encoded(query);
      CHECK(encoded.size() == y.size());
      for (const auto& [name, tensor] : encoded) {
        CAPTURE(name);
        check_equal(tensor, y.at(name));
      }
    }
  }
}

TEST_CASE("FeatureSpace: one that is read from its JSON has adapted, and encodes the same", "[text][config]") {
  const json golden = testing::golden("feature_space.json");
  for (const json& test : golden.at("cases")) {
    CAPTURE(test.at("config").dump());
    FeatureSpace space(options_in(test));
    space.adapt(columns_in(golden.at("rows")));
    const std::string text = to_json(space);
    const auto again = feature_space_from_json(text);
    CHECK(to_json(*again) == text);
    const FeatureColumns query = columns_in(test.at("query"));
    const std::map<std::string, Tensor> want = space.encoded(query), got = again->encoded(query);
    REQUIRE(got.size() == want.size());
    for (const auto& [name, tensor] : want) CHECK(testing::same_bits(got.at(name), tensor));
    CHECK(again->concatenates() == space.concatenates());
  }
}

TEST_CASE("FeatureSpace: a text of Keras is read, and adapts if its state is not in it", "[text][config]") {
  // The features of Keras 3.15.1: serialize_keras_object(FeatureSpace({"d": float_discretized(3), "size":
  // float_normalized()})) after adapt(), without options that have their defaults.
  const char* text = R"({"module": "keras.utils", "class_name": "FeatureSpace", "config": {"features": {
    "d": {"class_name": "Feature", "config": {"dtype": "float32", "preprocessor": {"class_name": "Discretization",
      "config": {"bin_boundaries": [1.0, 2.0], "num_bins": 3}}, "output_mode": "one_hot"}},
    "size": {"class_name": "Feature", "config": {"dtype": "float32", "preprocessor": {"class_name": "Normalization",
      "config": {"axis": [-1], "mean": null, "variance": null}}, "output_mode": "float"}}},
    "output_mode": "concat", "crosses": [], "crossing_dim": 32, "hashing_dim": 32, "num_discretization_bins": 32}})";
  const auto space = feature_space_from_json(text);
  const FeatureColumns columns{{"d", Tensor::from<float>({2}, {0, 1.5})}, {"size", Tensor::from<float>({2}, {1, 3})}};
  CHECK_THAT(testing::error_of([&] { (*space)(columns); }), ContainsSubstring("before adapt()"));
  space->adapt(columns);
  CHECK(numbers((*space)(columns)) == std::vector<double>{1, 0, 0, -1, 0, 1, 0, 1});
  const auto error = [](const char* wrong) { return testing::error_of([=] { feature_space_from_json(wrong); }); };
  CHECK_THAT(error(R"({"class_name": "Dense", "config": {}})"), ContainsSubstring("expected FeatureSpace"));
  CHECK_THAT(error(R"({"class_name": "FeatureSpace", "config": {}})"), ContainsSubstring("\"features\""));
}

TEST_CASE("FeatureSpace adapts to batches as to all of their rows", "[text]") {
  const FeatureSpaceOptions options{.features = {{"size", {"float_normalized"}}, {"word", {"string_categorical"}}}};
  FeatureSpace whole(options), parts(options);
  whole.adapt(table());
  const Tensor sizes = std::get<Tensor>(table().at("size"));
  const std::vector<FeatureColumns> batches{{{"size", sizes.rows(0, 2)}, {"word", Strings{"a", "b"}}},
                                            {{"size", sizes.rows(2, 5)}, {"word", Strings{"a", "c", "a"}}}};
  parts.adapt(table());
  parts.adapt(batches);  // forgets the first one
  CHECK(testing::difference(parts(table()), whole(table()), {1e-6, 1e-6}) == "");
  CHECK(parts(table()).shape() == Shape{5, 5});
}

TEST_CASE("FeatureSpace: whole numbers of float columns may be int32", "[text]") {
  FeatureColumns whole{{"size", Tensor::from<std::int32_t>({5}, {1, 2, 3, 4, 5})}},
      floats{{"size", table().at("size")}};
  for (const char* type : {"float", "float_normalized", "float_rescaled", "float_discretized"}) {
    CAPTURE(type);
    const FeatureSpaceOptions options{.features = {{"size", {.type = type, .num_bins = 3}}}};
    FeatureSpace of_integers(options), of_floats(options);
    of_integers.adapt(whole);
    of_floats.adapt(floats);
    CHECK(testing::difference(of_integers(whole), of_floats(floats), {1e-6, 1e-6}) == "");
    CHECK(of_integers(whole).dtype() == DType::float32);
  }
}

TEST_CASE("FeatureSpace: features of numbers are a part of a functional model, which computes the same", "[text]") {
  FeatureSpace space({.features = {{"size", {"float_normalized"}},
                                   {"rooms", {"integer_categorical"}},
                                   {"area", {.type = "float_discretized", .num_bins = 3}}}});
  const Tensor sizes = std::get<Tensor>(table().at("size"));
  const Tensor rooms = Tensor::from<std::int32_t>({5}, {3, 1, 3, 2, 3});
  const FeatureColumns columns{{"size", sizes}, {"rooms", rooms}, {"area", sizes}};
  space.adapt(columns);
  const std::map<std::string, SymbolicTensor> inputs = space.get_inputs();
  Functional model({inputs.at("area"), inputs.at("rooms"), inputs.at("size")}, {space.get_encoded_features()});
  const Tensor of_model = model.predict(
      Batch{{sizes.reshape({5, 1}), rooms.reshape({5, 1}), sizes.reshape({5, 1})}, {}, {}}, {.verbose = 0});
  CHECK(testing::difference(of_model, space(columns), {1e-6, 1e-6}) == "");
  CHECK(space.get_encoded_features() == space.get_encoded_features());
  FeatureSpace words({.features = {{"word", {"string_hashed"}}}});
  CHECK_THAT(error_of([&] { words.get_encoded_features(); }), ContainsSubstring("on the host"));
}

TEST_CASE("FeatureSpace takes a layer instead of a type", "[text]") {
  FeatureSpace space(
      {.features = {
           {"size", {.output_mode = "one_hot", .preprocessor = layers::discretization({.bin_boundaries = {2.5}})}},
           {"word", {.output_mode = "float", .preprocessor = layers::text_vectorization({.output_mode = "count"})}}}});
  space.adapt(table());
  CHECK(space.preprocessors().at("size")->class_name() == "Discretization");
  // The bins of sizes, then the counts of unknown words, "a", "c" and "b".
  CHECK(numbers(space({{"size", Tensor::from<float>({2}, {1, 9})}, {"word", Strings{"a a", "x"}}})) ==
        std::vector<double>{1, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0});
  // Layers with a state need no adapt.
  CHECK_NOTHROW(FeatureSpace(
      {.features = {{"size", {.output_mode = "one_hot", .preprocessor = space.preprocessors().at("size")}}}})(
      {{"size", Tensor({1})}}));
}

TEST_CASE("FeatureSpace: layers that have adapted before need no adapt, others do", "[text]") {
  const auto adapted = [](const LayerPtr& layer) {
    return FeatureSpace({.features = {{"a", {.output_mode = "int", .preprocessor = layer}}}}).adapted();
  };
  const Tensor data = Tensor::from<float>({4, 1}, {-1, 1, -1, 1});
  const auto lookup = layers::integer_lookup();
  const auto bins = layers::discretization({.num_bins = 2});
  const auto normalization = layers::normalization();
  (*normalization)(data);  // builds it
  for (const std::shared_ptr<PreprocessingLayer>& layer :
       std::vector<std::shared_ptr<PreprocessingLayer>>{lookup, bins, normalization}) {
    CAPTURE(layer->class_name());
    CHECK_FALSE(adapted(layer));
    layer->adapt(data);
    CHECK(adapted(layer));
  }
  const auto loaded = layers::normalization();
  loaded->build({4, 1});
  loaded->set_weights({Tensor::from<float>({1}, {2}), Tensor::from<float>({1}, {1})});
  CHECK(adapted(loaded));
  CHECK(adapted(layers::discretization({.num_bins = 1})));
  CHECK(adapted(layers::normalization({.mean = 1.0, .variance = 1.0})));
}

TEST_CASE("FeatureSpace: one that fails to adapt again has not adapted", "[text]") {
  FeatureSpace space({.features = {{"size", {"float_normalized"}}, {"word", {"string_categorical"}}}});
  space.adapt(table());
  CHECK_THAT(error_of([&] { space.adapt({{"size", Tensor({1})}, {"word", Tensor({1})}}); }),
             ContainsSubstring("the column \"word\" has numbers"));
  CHECK_FALSE(space.adapted());
  CHECK_THAT(error_of([&] { space(table()); }), ContainsSubstring("called before adapt()"));
  space.adapt(table());
  CHECK(space.adapted());
}

TEST_CASE("FeatureSpace: wrong features, columns and calls are errors that say what to do", "[text][errors]") {
  const auto told = [](FeatureSpaceOptions options) {
    return error_of([&] { const FeatureSpace space(std::move(options)); });
  };
  CHECK_THAT(told({}), ContainsSubstring("no features"));
  CHECK_THAT(told({.features = {{"a", {"floats"}}}}),
             ContainsSubstring("has the type \"floats\" - expected one of \"float\""));
  CHECK_THAT(told({.features = {{"a", {"float", "two_hot"}}}}), ContainsSubstring("output_mode = \"two_hot\""));
  CHECK_THAT(told({.features = {{"a", {.preprocessor = layers::identity()}}}}),
             ContainsSubstring("output_mode = \"\""));
  CHECK_THAT(told({.features = {{"a", {"float"}}}, .output_mode = "list"}),
             ContainsSubstring("output_mode = \"list\""));
  CHECK_THAT(told({.features = {{"a", {"float"}}}, .crosses = {{{"a", "b"}}}}), ContainsSubstring("a cross of \"b\""));
  CHECK_THAT(told({.features = {{"a", {"float"}}}, .crosses = {{{"a"}}}}), ContainsSubstring("a cross of 1 features"));
  CHECK_THAT(told({.features = {{"a", {"string_hashed"}}, {"b", {"string_hashed"}}, {"a_X_b", {"float"}}},
                   .crosses = {{{"a", "b"}}}}),
             ContainsSubstring("a cross of the name \"a_X_b\", which is that of a feature"));

  FeatureSpace space({.features = {{"size", {"float_normalized"}}, {"word", {"string_categorical"}}}});
  CHECK_THAT(error_of([&] { space(table()); }), ContainsSubstring("called before adapt()"));
  CHECK_THAT(error_of([&] { space.adapt({{"size", Tensor({1})}}); }), ContainsSubstring("without the column \"word\""));
  CHECK_THAT(error_of([&] { space.adapt({{"size", Tensor({1})}, {"word", Tensor({1})}}); }),
             ContainsSubstring("the column \"word\" has numbers"));
  space.adapt(table());
  CHECK_THAT(error_of([&] { space({{"size", Tensor({2})}, {"word", Strings{"a"}}}); }),
             ContainsSubstring("columns of 2 and of 1 rows"));
  CHECK_THAT(error_of([&] { space({{"size", Tensor({1})}, {"word", Strings{"a"}}, {"label", Tensor({1})}}); }),
             ContainsSubstring("the column \"label\" is no feature"));
  FeatureSpace indices({.features = {{"zip", {.type = "integer_hashed", .output_mode = "int"}}}});
  CHECK_THAT(error_of([&] { indices({{"zip", Tensor({1})}}); }), ContainsSubstring("expected floats to concatenate"));
  FeatureSpace by_name({.features = {{"a", {"float"}}}, .output_mode = "dict"});
  CHECK_THAT(error_of([&] { by_name({{"a", Tensor({1})}}); }), ContainsSubstring("call encoded()"));
  FeatureSpace crossed({.features = {{"a", {"float"}}, {"b", {"integer_hashed"}}}, .crosses = {{{"a", "b"}}}});
  CHECK_THAT(error_of([&] { crossed({{"a", Tensor({1})}, {"b", Tensor({1}, DType::int32)}}); }),
             ContainsSubstring("a feature of floats"));
}

}  // namespace etude
