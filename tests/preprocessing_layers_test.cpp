#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "etude/data/detail/resize_image.hpp"
#include "etude/ops/elementwise.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"
#include "preprocessing_samples.hpp"

// Layers that preprocess without random draws. conformance/preprocessing.json has their numbers.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::difference;
using testing::FilesInMemory;
using testing::golden;
using testing::kind_of;
using testing::numbers_in;
using testing::tensor_in;
using testing::tensor_of;

const nlohmann::json& cases(const char* name) {
  static const nlohmann::json all = golden("preprocessing.json").at("cases");
  return all.at(name);
}

Integers axes_in(const nlohmann::json& axis) {
  if (axis.is_null()) return {};
  if (axis.is_number()) return axis.get<std::int64_t>();
  return axis.get<std::vector<std::int64_t>>();
}

/// The batches of x, of these sizes.
Dataset batches_of(const Tensor& x, std::vector<std::int64_t> sizes) {
  return Dataset::from_generator([=]() -> Generator {
    return [=, at = std::size_t{0}, row = std::int64_t{0}]() mutable -> std::optional<Batch> {
      if (at == sizes.size()) return {};
      const std::int64_t first = row;
      row += sizes[at++];
      return Batch{{x.rows(first, row)}, {}, {}};
    };
  });
}

}  // namespace

TEST_CASE("Normalization: adapts to a tensor as in Keras, and to a dataset by batches of any size", "[preprocessing]") {
  for (const nlohmann::json& each : cases("normalization")) {
    const Tensor x = tensor_in(each.at("x"));
    const auto layer = layers::normalization({.axis = axes_in(each.at("axis"))});
    CHECK(difference((*layer)(x), x) == "");  // mean 0, variance 1
    const auto check = [&] {
      const std::vector<Tensor> weights = layer->get_weights();
      REQUIRE(weights.size() == 2);
      CHECK(difference(weights[0], tensor_in(each.at("mean")), {1e-6, 1e-5}) == "");
      CHECK(difference(weights[1], tensor_in(each.at("variance")), {1e-6, 1e-5}) == "");
      CHECK(difference((*layer)(x), tensor_in(each.at("y")), {1e-5, 1e-5}) == "");
    };
    layer->adapt(x);
    check();
    layer->adapt(filled({3, 3, 2}, 7));
    layer->adapt(batches_of(x, {3, 0, 1, 3}));
    check();
    CHECK(layer->trainable_variables().empty());
  }
}

TEST_CASE("Normalization: single rows of a dataset are rows, and invert undoes it", "[preprocessing]") {
  const Tensor x = waves({9, 4});
  const auto layer = layers::normalization(), rows = layers::normalization();
  layer->adapt(x);
  rows->adapt(Dataset::from_tensor_slices({{x}, {}, {}}));
  CHECK(difference(rows->get_weights()[1], layer->get_weights()[1], {1e-6, 0}) == "");
  const auto back = layers::normalization({.invert = true});
  back->adapt(x);
  CHECK(difference((*back)((*layer)(x)), x, {1e-5, 0}) == "");
  const auto bytes = layers::normalization();
  bytes->adapt(tensor_of({2, 1}, DType::uint8, {10, 30}));
  CHECK(numbers((*bytes)(tensor_of({2, 1}, DType::uint8, {10, 30}))) == std::vector<double>{-1, 1});
}

TEST_CASE("Normalization: its statistics are weights, which fit does not change and a saved model has",
          "[preprocessing][saving]") {
  const FilesInMemory scope;
  const Tensor x = photos({20, 3}), y = signs_of(waves({20, 3}));
  const auto normalization = layers::normalization();
  normalization->adapt(x);
  const auto weights = weights_of(*normalization);
  Sequential model({normalization, layers::dense({.units = 1})});
  model.compile(mse());
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  CHECK(weights_of(*normalization) == weights);
  model.save("model");
  CHECK(testing::same_bits(load_model("model")->predict(x, {.verbose = 0}), model.predict(x, {.verbose = 0})));
}

TEST_CASE("Normalization: wrong axes, means and data are errors", "[preprocessing][errors]") {
  CHECK_THAT(error_of([] { layers::normalization({.mean = 1.0}); }),
             ContainsSubstring("1 means and 0 variances - expected as many of both"));
  CHECK_THAT(error_of([] { (*layers::normalization({.axis = 0}))(waves({2, 3})); }),
             ContainsSubstring("axis = 0 for input of shape [2, 3] - expected an axis behind"));
  CHECK_THAT(error_of([] { (*layers::normalization({.mean = {1, 2}, .variance = {1, 2}}))(waves({2, 3})); }),
             ContainsSubstring("2 means for axes of extents [3]"));
  const auto layer = layers::normalization();
  layer->adapt(waves({2, 3}));
  CHECK_THAT(error_of([&] { layer->adapt(waves({2, 4})); }), ContainsSubstring("data of shape [2, 4] - expected"));
  CHECK_THAT(error_of([&] { (*layer)(waves({2, 4})); }), ContainsSubstring("input of shape [2, 4] - expected"));
  CHECK_THAT(error_of([&] { layer->adapt(Tensor({0, 3})); }), ContainsSubstring("adapted to no data"));
  CHECK_THAT(error_of([] { layers::normalization({.mean = 1.0, .variance = 1.0})->adapt(waves({2, 3})); }),
             ContainsSubstring("adapted although mean and variance are set"));
}

TEST_CASE("Discretization: adapts to quantiles as in Keras", "[preprocessing]") {
  for (const nlohmann::json& each : cases("discretization")) {
    const Tensor x = tensor_in(each.at("x"));
    const std::int64_t bins = each.at("num_bins");
    const auto layer = layers::discretization({.num_bins = bins, .epsilon = each.at("epsilon")});
    const auto boundaries = [&](const nlohmann::json& known) {
      std::vector<double> all = numbers_in(known);
      all.resize(static_cast<std::size_t>(bins - 1), std::numeric_limits<double>::infinity());
      return all;
    };
    layer->adapt(x);
    CHECK(difference(numbers(layer->get_weights()[0]), boundaries(each.at("boundaries")), {1e-5, 1e-5}) == "");
    CHECK(difference((*layer)(x), tensor_in(each.at("y"))) == "");
    const std::int64_t half = x.size() / 2;
    layer->reset_state();
    layer->update_state(x.rows(0, half));
    layer->update_state(x.rows(half, x.size()));
    layer->finalize_state();
    CHECK(difference(numbers(layer->get_weights()[0]), boundaries(each.at("boundaries_of_halves")), {1e-5, 1e-5}) ==
          "");
  }
}

TEST_CASE("Discretization: bins have about as many elements each, for any number of boundaries", "[preprocessing]") {
  const Tensor x = waves({1000, 1});
  for (const std::int64_t bins : {2, 7, 33}) {
    const auto layer = layers::discretization({.num_bins = bins, .epsilon = 0.001, .output_mode = "one_hot"});
    layer->adapt(x);
    std::vector<double> counts(static_cast<std::size_t>(bins));
    const std::vector<double> rows = numbers((*layer)(x));
    for (std::size_t i = 0; i < rows.size(); ++i) counts[i % counts.size()] += rows[i];
    for (const double count : counts) CHECK(std::abs(count - 1000.0 / static_cast<double>(bins)) < 4);
  }
}

TEST_CASE("Discretization: NaN is the largest number, and belongs to the last bin, as in Keras", "[preprocessing]") {
  const double nan = std::nan("");
  const Tensor x = tensor_of({5}, DType::float32, {nan, -1, 0, 0.5, 3});
  CHECK(numbers((*layers::discretization({.bin_boundaries = {0, 1, 2}}))(x)) == std::vector<double>{3, 0, 1, 1, 3});
  const auto layer = layers::discretization({.num_bins = 4});
  layer->adapt(tensor_of({8}, DType::float32, {3, nan, 1, 2, 4, 5, 6, 7}));
  CHECK(numbers(layer->get_weights()[0]) == std::vector<double>{2, 4, 6});
  // In a long list of which NaN is a third, sorted by a plain <, numbers would be out of order.
  std::vector<double> long_list;
  for (int i = 0; i < 300; ++i) long_list.push_back(i % 3 == 1 ? nan : (i * 7) % 300);
  layer->adapt(tensor_of({300}, DType::float32, long_list));
  const std::vector<double> boundaries = numbers(layer->get_weights()[0]);
  CHECK(std::ranges::is_sorted(boundaries));
  CHECK(boundaries[1] < 300);
  CHECK(boundaries[2] == std::numeric_limits<double>::infinity());
  CHECK(numbers((*layer)(x))[0] == 3);
  layer->adapt(tensor_of({3}, DType::float32, {nan, nan, nan}));
  CHECK(numbers((*layer)(x)) == std::vector<double>{3, 0, 0, 0, 0});
}

TEST_CASE("Discretization: calls before adapt, and contradictory options, are errors", "[preprocessing][errors]") {
  CHECK_THAT(error_of([] { (*layers::discretization({.num_bins = 3}))(waves({2})); }),
             ContainsSubstring("called before adapt() - expected boundaries"));
  CHECK_THAT(error_of([] { layers::discretization({}); }), ContainsSubstring("neither bin_boundaries nor num_bins"));
  CHECK_THAT(error_of([] { layers::discretization({.bin_boundaries = {1, 2}, .num_bins = 3}); }),
             ContainsSubstring("both bin_boundaries and num_bins"));
  CHECK_THAT(error_of([] { layers::discretization({.bin_boundaries = {2, 1}}); }), ContainsSubstring("ascending"));
  CHECK_THAT(error_of([] { layers::discretization({.bin_boundaries = {1, std::nan("")}}); }),
             ContainsSubstring("ascending"));
  CHECK_THAT(error_of([] { layers::discretization({.num_bins = 3, .output_mode = "binary"}); }),
             ContainsSubstring("output_mode = \"binary\""));
  CHECK_THAT(error_of([] { layers::discretization({.bin_boundaries = 1.0})->adapt(waves({2})); }),
             ContainsSubstring("adapted although bin_boundaries are set"));
}

TEST_CASE("Discretization: a saved model has the boundaries it adapted to", "[preprocessing][saving]") {
  const FilesInMemory scope;
  const Tensor x = waves({40, 2}), y = signs_of(x);
  const auto bins = layers::discretization({.num_bins = 4, .output_mode = "count"});
  bins->adapt(x);
  Sequential model({bins, layers::dense({.units = 1})});
  model.compile(mse());
  model.fit(x, y, {.verbose = 0});
  model.save("model");
  CHECK(testing::same_bits(load_model("model")->predict(x, {.verbose = 0}), model.predict(x, {.verbose = 0})));
}

TEST_CASE("CategoryEncoding: weighs counts, and checks numbers before a step", "[preprocessing]") {
  const auto layer = layers::category_encoding({.num_tokens = 4, .output_mode = "count"});
  const Tensor tokens = tensor_of({2, 3}, DType::int32, {1, 3, 1, 0, 2, 2});
  const Tensor weights = tensor_of({2, 3}, DType::float32, {0.5, 1, 0.25, 2, 3, 4});
  CHECK(numbers((*layer)(std::vector{tokens, weights})) == std::vector<double>{0, 0.75, 0, 1, 2, 0, 7, 0});
  CHECK_THAT(error_of([&] { (*layers::category_encoding({.num_tokens = 4}))(std::vector{tokens, weights}); }),
             ContainsSubstring("called on 2 inputs with output_mode = \"multi_hot\""));
  CHECK_THAT(error_of([] { layers::category_encoding({}); }), ContainsSubstring("num_tokens = 0"));
  Sequential model({layers::category_encoding({.num_tokens = 3, .name = "tokens"}), layers::dense({.units = 1})});
  model.compile(mse());
  CHECK_THAT(error_of([&] { model.predict(tokens, {.verbose = 0}); }),
             ContainsSubstring("[CategoryEncoding \"tokens\"] category 3 in row 0 of x - expected 0 to 2"));
}

TEST_CASE("Resizing: integers keep their dtype, rounded to the nearest even number", "[preprocessing]") {
  const Tensor x = tensor_of({1, 1, 2, 1}, DType::uint8, {0, 2});
  const Tensor y = (*layers::resizing({.height = 1, .width = 8}))(x);
  CHECK(y.dtype() == DType::uint8);
  CHECK(numbers(y) == std::vector<double>{0, 0, 0, 1, 1, 2, 2, 2});  // 0, 0, .25, .75, 1.25, 1.75, 2, 2
  CHECK((*layers::center_crop({.height = 1, .width = 1}))(x).dtype() == DType::float32);
  const Tensor halves = tensor_of({1, 1, 2, 1}, DType::uint8, {1, 2});
  CHECK(numbers((*layers::resizing({.height = 1, .width = 1}))(halves)) == std::vector<double>{2});  // 1.5
}

TEST_CASE("Resizing: the margins of integers have the nearest integer to fill_value", "[preprocessing]") {
  for (const char* interpolation : {"nearest", "bilinear"})
    for (const auto& [fill, margin] : {std::pair(300.0, 255.0), {-5.5, 0.0}, {7.4, 7.0}, {20.5, 20.0}}) {
      CAPTURE(interpolation, fill);
      const Tensor y = (*layers::resizing(
          {.height = 4, .width = 4, .interpolation = interpolation, .pad_to_aspect_ratio = true, .fill_value = fill}))(
          tensor_of({1, 2, 4, 1}, DType::uint8, std::vector<double>(8, 10)));
      CHECK(y.dtype() == DType::uint8);
      for (std::int64_t i = 0; i < 16; ++i) CHECK(y.at(i) == (i < 4 || i >= 12 ? margin : 10));
    }
  const Tensor large = tensor_of({1, 1, 2, 1}, DType::int32, {2147483647, -2147483647});
  const Tensor same = (*layers::resizing({.height = 1, .width = 2, .interpolation = "nearest"}))(large);
  CHECK(testing::same_bits(same, large));
}

TEST_CASE("Resizing: the nearest pixel is exact, as that of images in files", "[preprocessing]") {
  // The centers of some pixels lie on edges, where rounded positions are those of a neighbor.
  for (const auto& [in, out] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {2, 41}, {2, 49}, {2, 107}, {4, 98}, {1, 9}, {9, 1}, {7, 3}, {250, 17}, {97, 97}, {255, 85}}) {
    CAPTURE(in, out);
    Tensor image({1, in, 1}, DType::uint8);
    for (std::int64_t i = 0; i < in; ++i)
      image.data<std::uint8_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < out; ++i) expected.push_back(static_cast<double>((2 * i + 1) * in / (2 * out)));
    const LayerPtr layer = layers::resizing({.height = 1, .width = out, .interpolation = "nearest"});
    CHECK(numbers((*layer)(image.reshape({1, 1, in, 1}))) == expected);
    CHECK(numbers(images::resized(image, {.height = 1, .width = out, .nearest = true})) == expected);
  }
}

TEST_CASE("Resizing: invalid sizes and options are errors", "[preprocessing][errors]") {
  CHECK_THAT(error_of([] { layers::resizing({.height = 3}); }), ContainsSubstring("height = 3, width = 0"));
  CHECK_THAT(error_of([] { layers::resizing({.height = 3, .width = 3, .interpolation = "area"}); }),
             ContainsSubstring("interpolation = \"area\""));
  CHECK_THAT(error_of([] {
               layers::resizing({.height = 3, .width = 3, .crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true});
             }),
             ContainsSubstring("expected at most one of them"));
  CHECK_THAT(error_of([] { (*layers::resizing({.height = 3, .width = 3}))(waves({2, 3, 4})); }),
             ContainsSubstring("input of shape [2, 3, 4] - expected [batch, height, width, channels]"));
  CHECK_THAT(error_of([] { (*layers::resizing({.height = 3, .width = 3}))(Tensor({2, 0, 4, 1})); }),
             ContainsSubstring("images of 0 x 4 pixels"));
  CHECK_THAT(error_of([] { layers::equalization({.bins = 1}); }), ContainsSubstring("bins = 1"));
  CHECK_THAT(error_of([] { layers::auto_contrast({.value_range = {1, 1}}); }),
             ContainsSubstring("value_range = [1, 1]"));
}

TEST_CASE("STFTSpectrogram: sound that is shorter than a frame is an error, unless it is padded",
          "[preprocessing][errors]") {
  const Tensor x = waves({1, 10, 1}), channels_first = waves({1, 1, 10});
  const auto told = [](const STFTSpectrogramOptions& options, const Tensor& sound) {
    return error_of([&] { (*layers::stft_spectrogram(options))(sound); });
  };
  CHECK_THAT(told({.frame_length = 32}, x),
             ContainsSubstring("sound of 10 samples - expected at least frame_length = 32"));
  CHECK_THAT(told({.frame_length = 32, .data_format = "channels_first"}, channels_first),
             ContainsSubstring("sound of 10 samples"));
  CHECK(told({.frame_length = 32, .padding = "same"}, x) == "");
  CHECK(told({.frame_length = 10}, x) == "");
}

TEST_CASE("Equalization: an image's result does not depend on the others of its batch", "[preprocessing]") {
  const Tensor x = photos({3, 6, 5, 2});
  const auto layer = layers::equalization();
  const Tensor all = (*layer)(x, true);
  for (std::int64_t i = 0; i < 3; ++i)
    CHECK(difference((*layer)(x.rows(i, i + 1), true), all.rows(i, i + 1).clone()) == "");
  CHECK(testing::same_bits((*layer)(x, false), x));
}

TEST_CASE("layers of images compute alike with their channels first", "[preprocessing]") {
  const Tensor x = photos({2, 5, 6, 3});
  std::vector<ImageClass> classes = random_image_classes();
  classes.insert(classes.end(), {{"Resizing", R"({"height": 3, "width": 8})"},
                                 {"CenterCrop", R"({"height": 3, "width": 4})"},
                                 {"RandomCrop", R"({"height": 3, "width": 4})"},
                                 {"AutoContrast"},
                                 {"Equalization"}});
  for (const ImageClass& each : classes)
    for (const bool training : {false, true}) {
      CAPTURE(each.name, training);
      const bool draws = std::string_view(each.name) != "Resizing" && std::string_view(each.name) != "CenterCrop" &&
                         std::string_view(each.name) != "AutoContrast" && std::string_view(each.name) != "Equalization";
      const std::string seed = draws ? R"("seed": 4)" : "";
      const Tensor last = (*layer_of(each.name, each.config, seed))(x, training);
      const std::string first_channels = (draws ? seed + ", " : seed) + R"("data_format": "channels_first")";
      const Tensor first = (*layer_of(each.name, each.config, first_channels))(transposed(x, {0, 3, 1, 2}), training);
      // The noise of RandomErasing is drawn in the order of the pixels, which is that of channels_last.
      CHECK(difference(transposed(first, {0, 2, 3, 1}), last, {1e-4, 1e-6}) == "");
    }
}

}  // namespace etude
