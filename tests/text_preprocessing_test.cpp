#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "etude/base/detail/hashes.hpp"
#include "golden.hpp"
#include "mirrored_samples.hpp"
#include "training_samples.hpp"

// The layers of strings, against Keras 3 on TensorFlow: tests/golden/text.json.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::numbers_in;
using testing::shape_in;
using testing::tensor_of;
using Texts = std::vector<std::string>;

StringsOrTensor input_in(const json& given) {
  const Shape shape = shape_in(given.at("shape"));
  if (given.contains("texts")) return Strings(shape, given.at("texts").get<Texts>());
  const std::string name = given.at("dtype");
  const DType dtype = name == "bool" ? DType::boolean : name == "int32" ? DType::int32 : DType::float32;
  return tensor_of(shape, dtype, numbers_in(given.at("numbers")));
}
Strings strings_in(const json& given) { return std::get<Strings>(input_in(given)); }

template <class Class> std::shared_ptr<Class> layer_of(const json& class_and_config) {
  return std::dynamic_pointer_cast<Class>(from_json<Layer>(class_and_config.dump()));
}

/// The layer of a case, adapted to its data.
std::shared_ptr<StringLayer> layer_in(const json& test) {
  const auto layer = layer_of<StringLayer>({{"class_name", test.at("class_name")}, {"config", test.at("config")}});
  if (test.contains("adapts")) dynamic_cast<VocabularyLayer&>(*layer).adapt(strings_in(test.at("adapts")));
  return layer;
}

/// The result of a layer for the inputs of a case.
Tensor result_of(const StringLayer& layer, const json& test) {
  std::vector<StringsOrTensor> inputs;
  for (const json& x : test.at("x")) inputs.push_back(input_in(x));
  return layer.compute(inputs);
}

const json& golden() {
  static const json text = testing::golden("text.json");
  return text;
}

/// Sentences about animals and about food, in turn.
struct Reviews {
  Texts texts;
  Tensor labels = Tensor({20, 1});
  Reviews() {
    const Texts animals{"cat", "dog", "bird", "fish", "horse"}, foods{"bread", "soup", "rice", "cake", "apple"};
    for (std::size_t i = 0; i < 20; ++i) {
      const bool is_food = i % 2 != 0;
      texts.push_back((i % 4 < 2 ? "The " : "I saw a ") + (is_food ? foods : animals)[i / 4] +
                      (i % 3 == 0 ? "!" : ", there."));
      labels.data<float>()[i] = is_food;
    }
  }
};

}  // namespace

TEST_CASE("hashes of strings of all sizes are those of TensorFlow", "[text]") {
  constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1, large = (std::uint64_t{1} << 63) - 1;
  for (const json& each : golden().at("hashes")) {
    const std::string text = each.at("text");
    CAPTURE(text.size());
    CHECK(std::to_string(fingerprint64(text) % modulus) == each.at("fast").get<std::string>());
    CHECK(std::to_string(sip_hash(text, 5, large) % modulus) == each.at("strong").get<std::string>());
  }
}

TEST_CASE("layers of strings compute the numbers and vocabularies of Keras", "[text]") {
  for (const json& test : golden().at("cases")) {
    CAPTURE(test.at("class_name"), test.at("config").dump(), test.at("x").dump());
    const auto layer = layer_in(test);
    const Tensor y = result_of(*layer, test);
    CHECK(y.shape() == shape_in(test.at("shape")));
    // Keras counts in int64, Étude in the compute dtype.
    const bool is_index = test.at("config").value("output_mode", "int") == "int";
    CHECK(y.dtype() == (is_index ? DType::int32 : DType::float32));
    CHECK(distance(numbers(y), numbers_in(test.at("y"))) < 2e-7);
    if (!test.contains("vocabulary")) continue;
    const auto& lookup = dynamic_cast<VocabularyLayer&>(*layer);
    CHECK(lookup.get_vocabulary() == test.at("vocabulary").get<Texts>());
    CHECK(lookup.vocabulary_size() == std::ssize(test.at("vocabulary")));
  }
}

TEST_CASE("a layer of strings that is made again from its config, adapted or not, computes the same", "[text]") {
  for (const json& test : golden().at("cases")) {
    CAPTURE(test.at("class_name"), test.at("config").dump());
    const auto layer = layer_in(test);
    const std::string text = to_json<Layer>(*layer);
    const auto again = layer_of<StringLayer>(json::parse(text));
    CHECK(testing::same_bits(result_of(*again, test), result_of(*layer, test)));
    CHECK(to_json<Layer>(*again) == text);
  }
}

TEST_CASE("configs of Keras's layers of strings are read, and contain the options of Étude's", "[text][config]") {
  for (const json& given : golden().at("configs")) {
    CAPTURE(given.dump());
    const json made = json::parse(to_json<Layer>(*layer_of<StringLayer>(given))).at("config");
    for (const auto& [name, value] : given.at("config").items()) {
      CAPTURE(name);
      if (name == "dtype" || name == "name" || name == "trainable" || name == "vocabulary_size") continue;
      REQUIRE(made.contains(name));
      const bool is_none = value.is_null() && made.at(name).is_array() && made.at(name).empty();
      CHECK((is_none || made.at(name) == value));
    }
  }
}

TEST_CASE("layers of strings: the shape of no rows is that of others", "[text]") {
  for (const char* mode : {"int", "one_hot", "multi_hot", "count"}) {
    CAPTURE(mode);
    const std::string output_mode = mode;
    const StringLookup lookup({.vocabulary = {"a", "b"}, .output_mode = output_mode});
    const TextVectorization vectorization({.split = {}, .output_mode = output_mode, .vocabulary = {"a", "b"}});
    for (const std::int64_t columns : {1, 3}) {
      const Strings none({0, columns}, {}), one({1, columns}, Texts(static_cast<std::size_t>(columns), "a"));
      CHECK(lookup(none).shape() == lookup(one).shape().without(0).with(0, 0));
      CHECK(vectorization(none).shape() == vectorization(one).shape().without(0).with(0, 0));
    }
  }
}

TEST_CASE("StringLookup: rows of several axes are encoded along axis 1, as in Keras", "[text]") {
  const Strings x({2, 2, 3}, {"a", "b", "q", "b", "b", "c", "c", "c", "a", "a", "c", "b"});
  const auto encoded = [&](const char* mode) {
    return StringLookup({.vocabulary = {"a", "b", "c"}, .output_mode = mode})(x);
  };
  CHECK(encoded("one_hot").shape() == Shape{2, 2, 3, 4});
  CHECK(encoded("multi_hot").shape() == Shape{2, 3, 4});
  CHECK(numbers(encoded("multi_hot")) == std::vector<double>{0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1,  //
                                                             0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0});
  CHECK(numbers(encoded("count")) == std::vector<double>{0, 1, 1, 0, 0, 0, 2, 0, 1, 0, 0, 1,  //
                                                         0, 1, 0, 1, 0, 0, 0, 2, 0, 1, 1, 0});
}

TEST_CASE("StringLookup: strings of indices as in Keras", "[text]") {
  for (const json& test : golden().at("inverted")) {
    const auto layer = layer_of<StringLookup>({{"class_name", "StringLookup"}, {"config", test.at("config")}});
    const Strings y = layer->strings_of(std::get<Tensor>(input_in(test.at("x"))));
    CHECK(y == Strings(shape_in(test.at("x").at("shape")), test.at("y").get<Texts>()));
  }
}

TEST_CASE("TextVectorization: functions of a user standardize and split texts", "[text]") {
  const auto vectorize = layers::text_vectorization(
      {.standardize = [](const std::string& text) { return text.substr(1); },
       .split = [](const std::string& text) { return Texts{text.substr(0, 1), text.substr(1)}; }});
  vectorize->adapt({"xab", "yac"});
  CHECK(vectorize->get_vocabulary() == Texts{"", "[UNK]", "a", "c", "b"});
  CHECK(numbers((*vectorize)({"-ab", "-cq"})) == std::vector<double>{2, 4, 3, 1});
  CHECK_THAT(error_of([&] { to_json<Layer>(*vectorize); }), ContainsSubstring("standardize is a function"));
  const auto several = layers::text_vectorization(
      {.standardize = [](const std::string& text) { return Texts{text, text}; }, .vocabulary = {"a"}});
  CHECK_THAT(error_of([&] { (*several)({"a"}); }), ContainsSubstring("a function standardize that returns 2 texts"));
  const auto as_they_are = layers::text_vectorization({.standardize = {}, .split = {}, .vocabulary = {"A b"}});
  CHECK(numbers((*as_they_are)({"A b", "a b"})) == std::vector<double>{2, 1});
}

TEST_CASE("TextVectorization: bytes that are no character become U+FFFD, as in TensorFlow", "[text]") {
  // tf.strings.unicode_split([b"a\xffb\xe2\x82"], "UTF-8") of TensorFlow 2.21.
  const auto vectorize = layers::text_vectorization({.split = "character"});
  vectorize->adapt(
      {"a\xff"
       "b\xe2\x82"});
  CHECK(vectorize->get_vocabulary(false) == Texts{"\xef\xbf\xbd", "b", "a"});
}

TEST_CASE("a vocabulary is that of all batches, the last adapt, or set_vocabulary", "[text]") {
  const auto lookup = layers::string_lookup();
  lookup->adapt(std::vector<Strings>{{"a", "b"}, {"b", "c"}});
  CHECK(lookup->get_vocabulary(false) == Texts{"b", "c", "a"});
  lookup->adapt({"d"});
  CHECK(lookup->get_vocabulary() == Texts{"[UNK]", "d"});
  lookup->set_vocabulary({"e", "f"});
  CHECK(numbers((*lookup)({"f", "d"})) == std::vector<double>{2, 0});
  const auto weighted = layers::string_lookup({.output_mode = "tf_idf"});
  weighted->set_vocabulary({"e"}, {0.5});
  CHECK(numbers((*weighted)(Strings({1, 3}, {"e", "e", "g"}))) == std::vector<double>{0.5, 1});
}

TEST_CASE("a model learns from texts that a layer vectorizes before it", "[text][training]") {
  const Reviews reviews;
  const auto vectorize = layers::text_vectorization({.output_sequence_length = 6});
  vectorize->adapt(reviews.texts);
  set_random_seed(1);
  Sequential model({layers::embedding({.input_dim = vectorize->vocabulary_size(), .output_dim = 8}),
                    layers::global_average_pooling1d(), layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile(
      {.optimizer = optimizers::adam({.learning_rate = 0.1}), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const auto history = model.fit((*vectorize)(reviews.texts), reviews.labels, {.epochs = 20, .verbose = 0});
  CHECK((*history)["accuracy"].back() == 1);
  const Tensor y = model.predict((*vectorize)({"I saw a horse", "the cake"}), {.verbose = 0});
  CHECK(y.at(0) < 0.5);
  CHECK(y.at(1) > 0.5);
}

TEST_CASE("layers of strings: wrong calls and options are errors that say what to do", "[text][errors]") {
  const auto words = layers::text_vectorization({.vocabulary = {"a"}});
  const SymbolicTensor x = layers::input({.shape = {4}});
  CHECK_THAT(error_of([&] { words->apply(x); }), ContainsSubstring("call it on them before the model"));
  CHECK_THAT(error_of([&] { words->call_all({waves({2, 3})}); }), ContainsSubstring("expected strings, which are on"));
  CHECK_THAT(error_of([&] { words->update_state({"b"}); }), ContainsSubstring("adapted although vocabulary is set"));
  CHECK_THAT(error_of([] { layers::text_vectorization({.ngrams = {1, std::int64_t{1} << 32}}); }),
             ContainsSubstring("ngrams of 4294967296 tokens"));
  CHECK_THAT(error_of([] { layers::text_vectorization({.output_sequence_length = std::int64_t{1} << 62}); }),
             ContainsSubstring("output_sequence_length = 4611686018427387904"));
  CHECK_THAT(error_of([] { (*layers::text_vectorization())({"a"}); }), ContainsSubstring("called before adapt()"));
  CHECK_THAT(error_of([&] { words->adapt({"a"}); }), ContainsSubstring("adapted although vocabulary is set"));
  CHECK_THAT(error_of([] { layers::text_vectorization()->adapt({"", "!"}); }),
             ContainsSubstring("adapted to no tokens"));
  CHECK_THAT(error_of([&] { (*words)(Strings({1, 2}, {"a", "b"})); }), ContainsSubstring("texts of shape [1, 2]"));
  CHECK_THAT(error_of([] { Strings({2, 2}, {"a"}); }), ContainsSubstring("1 strings for the shape [2, 2]"));
  CHECK_THAT(error_of([] { layers::text_vectorization({.standardize = "upper"}); }),
             ContainsSubstring("standardize = \"upper\""));
  CHECK_THAT(error_of([] { layers::text_vectorization({.split = "line"}); }), ContainsSubstring("split = \"line\""));
  CHECK_THAT(error_of([] { layers::text_vectorization({.ngrams = {0, 2}}); }), ContainsSubstring("ngrams of 0 tokens"));
  CHECK_THAT(error_of([] { layers::text_vectorization({.output_mode = "count", .output_sequence_length = 3}); }),
             ContainsSubstring("output_sequence_length with output_mode"));
  CHECK_THAT(error_of([] { layers::text_vectorization({.output_mode = "tf_idf", .vocabulary = {"a"}}); }),
             ContainsSubstring("0 idf_weights of 1 tokens"));
  CHECK_THAT(error_of([] { layers::string_lookup({.vocabulary = {"a", "b", "a"}}); }),
             ContainsSubstring("the token \"a\" twice"));
  CHECK_THAT(error_of([] { layers::string_lookup({.max_tokens = 2, .vocabulary = {"a", "b"}}); }),
             ContainsSubstring("expected at most max_tokens = 2"));
  CHECK_THAT(error_of([] { (*layers::string_lookup({.num_oov_indices = 0, .vocabulary = {"a"}}))({"q"}); }),
             ContainsSubstring("the token \"q\", which is not in the vocabulary"));
  CHECK_THAT(error_of([] { (*layers::string_lookup({.vocabulary = {"a"}, .invert = true}))({"a"}); }),
             ContainsSubstring("call strings_of()"));
  CHECK_THAT(error_of([] { layers::string_lookup({.vocabulary = {"a"}})->strings_of(waves({2})); }),
             ContainsSubstring("indices of dtype float32"));
  CHECK_THAT(error_of([] { layers::hashing({.num_bins = 0}); }), ContainsSubstring("num_bins = 0"));
  CHECK_THAT(error_of([] { layers::hashing({.num_bins = 3, .salt = {1, 2, 3}}); }),
             ContainsSubstring("salt = [1, 2, 3]"));
  CHECK_THAT(error_of([] { (*layers::hashing({.num_bins = 3, .mask_value = 0}))({"a"}); }),
             ContainsSubstring("strings with a mask_value that is a number"));
  const auto cross = layers::hashed_crossing({.num_bins = 3});
  CHECK_THAT(error_of([&] { (*cross)({Strings{"a"}}); }), ContainsSubstring("called on 1 features"));
  CHECK_THAT(error_of([&] { (*cross)({Strings{"a"}, Strings{"a", "b"}}); }),
             ContainsSubstring("features of the shapes [1] and [2]"));
  CHECK_THAT(error_of([&] { (*cross)({Strings{"a"}, waves({1})}); }), ContainsSubstring("a feature of floats"));
}

}  // namespace etude
