#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "files_in_memory.hpp"
#include "golden.hpp"
#include "mirrored_samples.hpp"
#include "training_samples.hpp"

// IntegerLookup, against Keras 3.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::numbers_in;
using testing::tensor_of;

Tensor integers_in(const json& rows) {
  return tensor_of({std::ssize(rows), std::ssize(rows.at(0))}, DType::int32, numbers_in(rows));
}

std::shared_ptr<IntegerLookup> lookup_of(const json& config) {
  return std::dynamic_pointer_cast<IntegerLookup>(
      from_json<Layer>(json{{"class_name", "IntegerLookup"}, {"config", config}}.dump()));
}

const Tensor ids = tensor_of({4, 2}, DType::int32, {3, 9, 9, 4, 7, 3, 1, 9});

}  // namespace

TEST_CASE("IntegerLookup: indices, encodings and integers as in Keras", "[preprocessing]") {
  const json golden = testing::golden("integer_lookup.json");
  for (const json& each : golden.at("cases")) {
    CAPTURE(each.at("config").dump());
    const auto layer = lookup_of(each.at("config"));
    if (each.at("adapts")) layer->adapt(integers_in(golden.at("data")));
    CHECK(layer->get_vocabulary() == each.at("vocabulary").get<std::vector<std::int64_t>>());
    const Tensor y = (*layer)(integers_in(each.at("x")));
    CHECK(y.shape() == testing::shape_in(each.at("shape")));
    CHECK(numbers(y) == numbers_in(each.at("y")));
  }
}

TEST_CASE("IntegerLookup: the most frequent integers come first, and a dataset counts as its rows", "[preprocessing]") {
  const auto rows = layers::integer_lookup(), all = layers::integer_lookup();
  all->adapt(ids);
  rows->adapt(Dataset::from_tensor_slices({{ids}, {}, {}}));
  CHECK(all->get_vocabulary(false) == std::vector<std::int64_t>{9, 3, 7, 4, 1});
  CHECK(rows->get_vocabulary() == all->get_vocabulary());
  CHECK(all->vocabulary_size() == 6);
  all->adapt(tensor_of({1}, DType::int32, {5}));
  CHECK(all->get_vocabulary(false) == std::vector<std::int64_t>{5});
}

TEST_CASE("IntegerLookup: each integer of a list is a document, and finalize_state forgets the data, as in Keras",
          "[preprocessing]") {
  const auto layer = layers::integer_lookup({.output_mode = "tf_idf"});
  layer->adapt(tensor_of({4}, DType::int32, {1, 1, 2, 3}));
  CHECK(layer->get_vocabulary() == std::vector<std::int64_t>{-1, 1, 3, 2});
  CHECK(testing::difference(layer->idf_weights()->rows(1, 4),
                            tensor_of({3}, DType::float32, {0.84729785, 1.0986123, 1.0986123}), {1e-6, 1e-6}) == "");
  layer->update_state(tensor_of({1, 1}, DType::int32, {7}));
  layer->finalize_state();
  CHECK(layer->get_vocabulary(false) == std::vector<std::int64_t>{7});
}

TEST_CASE("IntegerLookup: counts weighted by inverse document frequencies are those of Keras",
          "[preprocessing][saving]") {
  // Keras 3.15.1 on TensorFlow 2.21.
  const auto difference = [](const Tensor& y, const Shape& shape, const std::vector<double>& numbers) {
    return testing::difference(y, tensor_of(shape, DType::float32, numbers), {1e-6, 1e-6});
  };
  const auto given =
      layers::integer_lookup({.vocabulary = {3, 5, 9}, .idf_weights = {0.5, 1.5, 2}, .output_mode = "tf_idf"});
  const double mean = 1.3333333730697632;
  CHECK(difference((*given)(tensor_of({2, 4}, DType::int32, {3, 5, 5, 7, 9, 9, 3, 1})), {2, 4},
                   {mean, 0.5, 3, 0, mean, 0.5, 0, 4}) == "");
  const auto padded = layers::integer_lookup({.max_tokens = 6,
                                              .vocabulary = {3, 5},
                                              .idf_weights = {1, 2},
                                              .output_mode = "tf_idf",
                                              .pad_to_max_tokens = true});
  CHECK(difference((*padded)(tensor_of({1, 2}, DType::int32, {3, 7})), {1, 6}, {1.5, 1, 0, 0, 0, 0}) == "");

  const auto adapted = layers::integer_lookup({.output_mode = "tf_idf"});
  adapted->adapt(tensor_of({3, 4}, DType::int32, {3, 5, 5, 7, 9, 9, 3, 1, 3, 3, 3, 3}));
  CHECK(adapted->get_vocabulary() == std::vector<std::int64_t>{-1, 3, 9, 5, 7, 1});
  const Tensor x = tensor_of({2, 4}, DType::int32, {3, 5, 5, 7, 9, 9, 3, 2});
  const std::vector<double> want{0,
                                 0.5596157908439636,
                                 0,
                                 1.8325815200805664,
                                 0.9162907600402832,
                                 0,
                                 0.8449558019638062,
                                 0.5596157908439636,
                                 1.8325815200805664,
                                 0,
                                 0,
                                 0};
  CHECK(difference((*adapted)(x), {2, 6}, want) == "");
  const auto masked = layers::integer_lookup({.num_oov_indices = 2, .mask_token = 0, .output_mode = "tf_idf"});
  masked->adapt(tensor_of({3, 4}, DType::int32, {3, 5, 5, 7, 9, 9, 3, 0, 3, 3, 3, 3}));
  CHECK(difference((*masked)(tensor_of({2, 4}, DType::int32, {3, 5, 5, 0, 9, 9, 3, 2})), {2, 6},
                   {0, 0, 0.5596157908439636, 0, 1.8325815200805664, 0, 0.8271220326423645, 0, 0.5596157908439636,
                    1.8325815200805664, 0, 0}) == "");

  const testing::FilesInMemory scope;
  Sequential model({adapted});
  model.call_all({x});
  model.save("m.keras");
  CHECK(testing::same_bits(load_model("m.keras")->call_all({x}).front(), (*adapted)(x)));
  CHECK_THAT(error_of([] { layers::integer_lookup({.vocabulary = {1, 2}, .output_mode = "tf_idf"}); }),
             ContainsSubstring("0 idf_weights of 2 integers"));
}

TEST_CASE("IntegerLookup: indices of unknown integers take no memory, and stay below 2^31", "[preprocessing]") {
  const auto layer = layers::integer_lookup({.num_oov_indices = 2'000'000'000, .vocabulary = {5, 7}});
  const Tensor y = (*layer)(tensor_of({3}, DType::int32, {5, 7, 9}));
  CHECK(numbers(y) == std::vector<double>{2'000'000'000, 2'000'000'001, 9});
  const std::string error = error_of([] {
    layers::integer_lookup({.num_oov_indices = std::numeric_limits<std::int32_t>::max(), .vocabulary = {5, 7}});
  });
  CHECK_THAT(error, ContainsSubstring("2147483649 indices - expected less than 2^31"));
}

TEST_CASE("IntegerLookup: a vocabulary of any size, of the largest integers, is searched", "[preprocessing]") {
  for (const std::int64_t size : {1, 2, 3, 31, 32, 33, 1000}) {
    IntegerLookupOptions options;
    Tensor x({2 * size}, DType::int32);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < size; ++i) {
      const auto token = static_cast<std::int32_t>(2'147'000'000 - 7 * ((i * 389) % 1009));
      options.vocabulary.push_back(token);
      x.data<std::int32_t>()[static_cast<std::size_t>(2 * i)] = token;
      x.data<std::int32_t>()[static_cast<std::size_t>(2 * i + 1)] = token + 1;
      expected.insert(expected.end(), {static_cast<double>(i + 1), 0});
    }
    CHECK(numbers((*layers::integer_lookup(options))(x)) == expected);
  }
}

TEST_CASE("IntegerLookup: a saved model has the vocabulary that it adapted to", "[preprocessing][saving]") {
  const testing::FilesInMemory scope;
  const auto words = layers::integer_lookup();
  words->adapt(ids);
  Sequential model(
      {words, layers::embedding({.input_dim = 6, .output_dim = 2}), layers::flatten(), layers::dense({.units = 1})});
  model.compile(mse());
  model.fit(ids, filled({4, 1}, 1), {.verbose = 0});
  model.save("model");
  CHECK(testing::same_bits(load_model("model")->predict(ids, {.verbose = 0}), model.predict(ids, {.verbose = 0})));
}

TEST_CASE("IntegerLookup: replicas find the same indices as one", "[preprocessing][mirrored]") {
  const auto predicted = [](const StrategyPtr& strategy) {
    const auto model = within(strategy, [] {
      auto made = std::make_unique<Sequential>(
          std::vector<LayerPtr>{layers::integer_lookup({.vocabulary = {9, 3, 7}, .output_mode = "multi_hot"}),
                                layers::dense({.units = 1, .kernel_initializer = "ones"})});
      made->compile(mse());
      return made;
    });
    model->fit(ids, filled({4, 1}, 1), {.batch_size = 4, .verbose = 0});
    return numbers(model->predict(ids, {.verbose = 0}));
  };
  CHECK(distance(predicted(mirrored(2)), predicted(std::make_shared<OneDeviceStrategy>())) < 1e-6);
}

TEST_CASE("IntegerLookup: calls before adapt, and contradictory options, are errors", "[preprocessing][errors]") {
  CHECK_THAT(error_of([] { (*layers::integer_lookup())(ids); }), ContainsSubstring("called before adapt()"));
  CHECK_THAT(error_of([] { layers::integer_lookup({.vocabulary = {1, 2, 1}}); }),
             ContainsSubstring("a vocabulary that has an integer twice"));
  CHECK_THAT(error_of([] { layers::integer_lookup({.mask_token = 0, .vocabulary = {1, 0, 2}}); }),
             ContainsSubstring("the integer 0 of mask or unknown integers inside the vocabulary"));
  CHECK_THAT(error_of([] { layers::integer_lookup({.vocabulary = {1, -1, 2}, .invert = true}); }),
             ContainsSubstring("the integer -1 of mask or unknown integers"));
  CHECK(layers::integer_lookup({.vocabulary = {1, -1, 2}})->vocabulary_size() == 4);
  CHECK(layers::integer_lookup({.mask_token = 0, .vocabulary = {0, -1, 1, 2}})->vocabulary_size() == 4);
  CHECK_THAT(error_of([] { layers::integer_lookup({.max_tokens = 3, .vocabulary = {1, 2, 3}}); }),
             ContainsSubstring("expected at most max_tokens = 3"));
  CHECK_THAT(error_of([] { layers::integer_lookup({.max_tokens = 1}); }), ContainsSubstring("max_tokens = 1"));
  CHECK_THAT(error_of([] { layers::integer_lookup({.pad_to_max_tokens = true}); }),
             ContainsSubstring("pad_to_max_tokens without max_tokens"));
  CHECK_THAT(error_of([] { layers::integer_lookup({.invert = true, .output_mode = "count"}); }),
             ContainsSubstring("invert with output_mode = \"count\""));
  CHECK_THAT(error_of([] { layers::integer_lookup({.vocabulary = {1}})->adapt(ids); }),
             ContainsSubstring("adapted although vocabulary is set"));
  CHECK_THAT(error_of([] { layers::integer_lookup()->adapt(waves({3})); }),
             ContainsSubstring("expected integers of the range of int32"));
}

}  // namespace etude
