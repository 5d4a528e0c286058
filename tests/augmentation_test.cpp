#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <numeric>
#include <set>

#include "etude/layers/detail/image_ops.hpp"
#include "etude/ops/shape.hpp"
#include "golden.hpp"
#include "preprocessing_samples.hpp"
#include "training_samples.hpp"

// Augmentation of images, against Keras 3: tests/golden/augmentation.json; and layers of several.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using nlohmann::json;
using testing::numbers_in;
using testing::tensor_of;

constexpr std::int64_t many = 1000;

/// The share of equal images that a layer changes.
double share_of_changes(const LayerPtr& layer) {
  Tensor x({many, 4, 5, 1});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(1 + i % 20);
  const Tensor y = (*layer)(x, true);
  int changed = 0;
  for (std::int64_t i = 0; i < many; ++i) changed += !testing::same_bits(x.rows(i, i + 1), y.rows(i, i + 1));
  return changed / static_cast<double>(many);
}

}  // namespace

TEST_CASE("images whose corners are moved are those of Keras", "[preprocessing]") {
  const json golden = testing::golden("augmentation.json");
  for (const json& test : golden.at("perspectives")) {
    CAPTURE(test.at("interpolation"), test.at("shape").dump());
    const Shape shape = testing::shape_in(test.at("shape"));
    const auto sampling = image_ops::sampling_of("constant", test.at("interpolation").get<std::string>(), 3, "");
    const Tensor y = testing::run({tensor_of(shape, DType::float32, numbers_in(test.at("x"))),
                                   tensor_of({shape[0], 4}, DType::float32, numbers_in(test.at("shares")))},
                                  [&](std::span<const Value> in) {
                                    const auto share = [&](std::int64_t i) {
                                      return ops::reshape(ops::slice(in[1], 1, i, 1), {shape[0], 1, 1, 1});
                                    };
                                    return image_ops::perspective_transform(
                                        in[0], {share(0), share(1), share(2), share(3)}, sampling);
                                  });
    CHECK(testing::difference(numbers(y), numbers_in(test.at("y")), {2e-3, 1e-5}) == "");
  }
}

TEST_CASE("RandomPerspective changes images with the probability that it draws", "[preprocessing]") {
  CHECK_THAT(share_of_changes(layers::random_perspective({.seed = 3})), WithinAbs(0.5, 0.06));
  CHECK_THAT(share_of_changes(layers::random_perspective({.factor = {0.2, 0.2}, .seed = 3})), WithinAbs(0.2, 0.06));
  CHECK(share_of_changes(layers::random_perspective({.factor = 0.0})) == 0);
}

TEST_CASE("RandomPerspective: images of one row or one column have no infinite numbers", "[preprocessing]") {
  for (const Shape& shape : {Shape{50, 1, 6, 1}, Shape{50, 6, 1, 1}, Shape{50, 1, 1, 1}}) {
    const Tensor y = (*layers::random_perspective({.factor = {1, 1}, .seed = 3}))(waves(shape), true);
    for (const double number : numbers(y)) CHECK(std::isfinite(number));
  }
}

TEST_CASE("RandomPerspective: numbers out of range are errors", "[preprocessing][errors]") {
  CHECK_THAT(error_of([] { layers::random_perspective({.factor = 1.5}); }), ContainsSubstring("factor = [1.5]"));
  CHECK_THAT(error_of([] { layers::random_perspective({.scale = -0.1}); }), ContainsSubstring("scale = -0.1"));
  CHECK_THAT(error_of([] { layers::random_perspective({.interpolation = "cubic"}); }),
             ContainsSubstring("interpolation = \"cubic\""));
}

TEST_CASE("images that noise distorts are those of Keras", "[preprocessing]") {
  const json golden = testing::golden("augmentation.json");
  for (const json& test : golden.at("elastic")) {
    const std::string mode = test.at("fill_mode");
    CAPTURE(mode);
    const Shape shape = testing::shape_in(test.at("shape"));
    auto sampling =
        image_ops::sampling_of(mode == "mirror" ? "reflect" : mode, test.at("interpolation").get<std::string>(), 3, "");
    if (mode == "mirror") sampling.fill = image_ops::Sampling::Fill::mirror;
    const double sigma = test.at("sigma"), alpha = test.at("alpha");
    // The greatest sigma determines the extent of the bell; weights beyond three sigmas must not count.
    for (const double most : {sigma, 1.5}) {
      const Tensor y = testing::run({tensor_of(shape, DType::float32, numbers_in(test.at("x"))),
                                     tensor_of(shape, DType::float32, numbers_in(test.at("noise")))},
                                    [&](std::span<const Value> in) {
                                      return image_ops::elastic_transform(in[0], in[1], ops::full({}, alpha),
                                                                          ops::full({}, sigma), most, sampling);
                                    });
      CHECK(testing::difference(numbers(y), numbers_in(test.at("y")), {2e-2, 1e-5}) == "");
    }
  }
}

TEST_CASE("RandomElasticTransform changes images with the probability that it draws", "[preprocessing]") {
  CHECK_THAT(share_of_changes(layers::random_elastic_transform({.scale = {1, 1}, .seed = 3})), WithinAbs(0.5, 0.06));
  CHECK(share_of_changes(layers::random_elastic_transform({.factor = {1, 1}, .scale = {1, 1}, .seed = 3})) == 1);
  CHECK(share_of_changes(layers::random_elastic_transform({.factor = 0.0})) == 0);
  CHECK(share_of_changes(layers::random_elastic_transform({.scale = 0.0})) == 0);
}

TEST_CASE("RandomElasticTransform moves pixels along both axes, by about 3 % of the longer side", "[preprocessing]") {
  // Channels with the coordinates of their pixels show the moves.
  constexpr std::int64_t side = 60;
  Tensor x({1, side, side, 2});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 2 == 0 ? i / 2 % side : i / 2 / side);
  const Tensor y = (*layers::random_elastic_transform({.factor = {1, 1}, .scale = {1, 1}, .seed = 3}))(x, true);
  double squares_x = 0, squares_y = 0, products = 0, count = 0;
  for (std::int64_t row = 15; row < 45; ++row)
    for (std::int64_t column = 15; column < 45; ++column) {
      const std::int64_t at = 2 * (row * side + column);
      const double dx = y.at(at) - x.at(at), dy = y.at(at + 1) - x.at(at + 1);
      squares_x += dx * dx;
      squares_y += dy * dy;
      products += dx * dy;
      count += 1;
    }
  CHECK_THAT(std::sqrt(squares_x / count), WithinAbs(0.028 * side, 0.014 * side));
  CHECK_THAT(std::sqrt(squares_y / count), WithinAbs(0.028 * side, 0.014 * side));
  CHECK(std::abs(products) < 0.7 * std::sqrt(squares_x * squares_y));  // not along diagonals alone
}

TEST_CASE("RandomElasticTransform: numbers and names out of range are errors", "[preprocessing][errors]") {
  CHECK_THAT(error_of([] { layers::random_elastic_transform({.factor = 1.5}); }), ContainsSubstring("factor = [1.5]"));
  CHECK_THAT(error_of([] { layers::random_elastic_transform({.scale = {0, 2}}); }),
             ContainsSubstring("scale = [0, 2]"));
  CHECK_THAT(error_of([] { layers::random_elastic_transform({.fill_mode = "edge"}); }),
             ContainsSubstring("fill_mode = \"edge\""));
  CHECK_NOTHROW(layers::random_elastic_transform({.fill_mode = "mirror"}));
}

TEST_CASE("ContrastLimitedAdaptiveHistogramEqualization computes as Keras does", "[preprocessing]") {
  const json golden = testing::golden("augmentation.json");
  for (const json& test : golden.at("clahe")) {
    CAPTURE(test.at("config").dump(), test.at("shape").dump());
    json config = test.at("config");
    config["value_range"] = test.at("value_range");
    const LayerPtr layer = layer_of("ContrastLimitedAdaptiveHistogramEqualization", config.dump());
    const DType dtype = test.contains("dtype") ? DType::int32 : DType::float32;
    const Tensor y = (*layer)(tensor_of(testing::shape_in(test.at("shape")), dtype, numbers_in(test.at("x"))));
    CHECK(y.dtype() == dtype);
    // Integers are rounded down, from 254.99999 or 255.
    CHECK(testing::difference(numbers(y), numbers_in(test.at("y")), {dtype == DType::int32 ? 1 : 1e-3, 1e-5}) == "");
  }
  CHECK_THAT(error_of([] { layers::contrast_limited_adaptive_histogram_equalization({.tile_grid_size = {8, 0}}); }),
             ContainsSubstring("tile_grid_size = [8, 0]"));
}

TEST_CASE("RandomColorDegeneration blends images with gray as Keras does", "[preprocessing]") {
  const json test = testing::golden("augmentation.json").at("degeneration");
  const double factor = test.at("factor");
  const Tensor x = tensor_of(testing::shape_in(test.at("shape")), DType::float32, numbers_in(test.at("x")));
  const Tensor y = (*layers::random_color_degeneration({.factor = {factor, factor}}))(x, true);
  CHECK(testing::difference(numbers(y), numbers_in(test.at("y")), {1e-3, 1e-5}) == "");
}

TEST_CASE("RandAugment draws its changes among eleven layers", "[preprocessing]") {
  const Tensor x = photos({2, 5, 4, 3});
  const LayerPtr augment = layers::rand_augment({.num_ops = 1, .seed = 3});
  const Tensor contrasts = (*layers::auto_contrast())(x, true), equal = (*layers::equalization())(x, true);
  int contrasted = 0, equalized = 0;
  for (int i = 0; i < 60; ++i) {
    const Tensor y = (*augment)(x, true);
    CHECK(y.shape() == x.shape());
    contrasted += testing::same_bits(y, contrasts);
    equalized += testing::same_bits(y, equal);
  }
  CHECK((contrasted > 0 && contrasted < 20));
  CHECK((equalized > 0 && equalized < 20));
  CHECK(augment->layers().size() == 11);
  CHECK_THAT(error_of([] { layers::rand_augment({.num_ops = 0}); }), ContainsSubstring("num_ops = 0"));
  CHECK_THAT(error_of([] { layers::rand_augment({.factor = 2.0}); }), ContainsSubstring("factor = [2]"));
}

TEST_CASE("RandAugment and AugMix: with a seed, choices and changes draw from different streams", "[preprocessing]") {
  for (const LayerPtr& augment :
       std::vector<LayerPtr>{layers::rand_augment({.seed = 7}), layers::aug_mix({.seed = 7})}) {
    std::vector<std::uint32_t> streams{augment->random_key().value().stream};
    for (const LayerPtr& change : augment->layers())
      if (const auto key = change->random_key()) {
        CHECK(key->seed == 7);
        streams.push_back(key->stream);
      }
    CHECK(streams.size() == 10);  // AutoContrast and Equalization draw nothing
    CHECK(std::set(streams.begin(), streams.end()).size() == streams.size());
  }
}

TEST_CASE("AugMix: a chain of one change is mixed with the original by shares of a beta distribution",
          "[preprocessing]") {
  const Tensor x = photos({2, 5, 4, 3});
  const std::vector<double> from = numbers(x), to = numbers((*layers::auto_contrast())(x, true));
  // The share of the original, if the change is AutoContrast.
  const auto share_in = [&](const Tensor& result) -> std::optional<double> {
    const std::vector<double> y = numbers(result);
    double products = 0, squares = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      products += (y[i] - to[i]) * (from[i] - to[i]);
      squares += (from[i] - to[i]) * (from[i] - to[i]);
    }
    const double share = products / squares;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (std::abs(share * from[i] + (1 - share) * to[i] - y[i]) > 0.01) return {};
    return share;
  };
  const auto shares = [&](double alpha, int calls) {
    const LayerPtr mix =
        layers::aug_mix({.num_chains = 1, .chain_depth = 1, .alpha = alpha, .all_ops = false, .seed = 5});
    std::vector<double> result;
    for (int i = 0; i < calls; ++i)
      if (const auto share = share_in((*mix)(x, true)); share && *share < 0.9999) result.push_back(*share);
    return result;
  };
  const std::vector<double> even = shares(1, 90);
  CHECK((even.size() > 4 && even.size() < 22));  // one of eight: seven changes and none
  CHECK(*std::ranges::min_element(even) < 0.35);
  CHECK(*std::ranges::max_element(even) > 0.65);
  const std::vector<double> equal = shares(1e6, 30);
  CHECK_FALSE(equal.empty());
  for (const double share : equal) CHECK_THAT(share, WithinAbs(0.5, 0.01));
}

TEST_CASE("AugMix: the shares of chains sum to one, and without changes the images stay", "[preprocessing]") {
  const Tensor x = photos({2, 5, 4, 3});
  for (const double alpha : {1e-3, 0.3, 1.0, 4.0}) {
    CAPTURE(alpha);
    const LayerPtr mix = layers::aug_mix({.num_chains = 4, .chain_depth = 0, .alpha = alpha, .seed = 5});
    for (int i = 0; i < 5; ++i) CHECK(testing::difference((*mix)(x, true), x, {1e-3, 1e-5}) == "");
  }
  CHECK(layers::aug_mix()->layers().size() == 11);
  CHECK(layers::aug_mix({.all_ops = false})->layers().size() == 7);
}

TEST_CASE("AugMix: numbers out of range are errors", "[preprocessing][errors]") {
  CHECK_THAT(error_of([] { layers::aug_mix({.num_chains = 0}); }), ContainsSubstring("num_chains = 0"));
  CHECK_THAT(error_of([] { layers::aug_mix({.num_chains = 20, .chain_depth = 6}); }),
             ContainsSubstring("chain_depth = 6 for 20 chains"));
  CHECK_THAT(error_of([] { layers::aug_mix({.alpha = 0}); }), ContainsSubstring("alpha = 0"));
  CHECK_THAT(error_of([] { layers::aug_mix({.factor = 1.1}); }), ContainsSubstring("factor = [1.1]"));
}

TEST_CASE("MaxNumBoundingBoxes cuts or fills boxes and labels as Keras does", "[preprocessing]") {
  std::vector<float> places(16);
  std::iota(places.begin(), places.end(), 0.0F);
  const Tensor boxes = Tensor::from<float>({2, 2, 4}, places),
               labels = Tensor::from<std::int32_t>({2, 2}, {1, 2, 3, 4});
  // Keras 3.15.1 on JAX.
  const std::vector<Tensor> more = layers::max_num_bounding_boxes({.max_number = 3})->call_all({boxes, labels});
  REQUIRE(more.size() == 2);
  CHECK(numbers(more[0]) ==
        std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1});
  CHECK(more[0].shape() == Shape{2, 3, 4});
  CHECK(numbers(more[1]) == std::vector<double>{1, 2, -1, 3, 4, -1});
  CHECK(more[1].dtype() == DType::int32);
  const LayerPtr one = layers::max_num_bounding_boxes({.max_number = 1, .fill_value = 7});
  CHECK(numbers(one->call_all({boxes, labels})[1]) == std::vector<double>{1, 3});
  CHECK(numbers((*one)(boxes)) == std::vector<double>{0, 1, 2, 3, 8, 9, 10, 11});
}

TEST_CASE("MaxNumBoundingBoxes: sizes that do not fit are errors", "[preprocessing][errors]") {
  const Tensor boxes({2, 2, 4}), labels({2, 3});
  CHECK_THAT(error_of([] { layers::max_num_bounding_boxes({.max_number = 0}); }), ContainsSubstring("max_number = 0"));
  const LayerPtr layer = layers::max_num_bounding_boxes({.max_number = 3});
  CHECK_THAT(error_of([&] { layer->call_all({boxes, labels}); }), ContainsSubstring("labels of shape [2, 3]"));
  CHECK_THAT(error_of([&] { (*layer)(labels); }), ContainsSubstring("expected [batch, boxes, 4]"));
  const Tensor bytes({2, 2, 4}, DType::uint8);
  CHECK_THAT(error_of([&] { (*layer)(bytes); }), ContainsSubstring("fill_value = -1 for numbers of dtype uint8"));
  // A config of Keras.
  CHECK_NOTHROW(layer_of("MaxNumBoundingBoxes",
                         R"({"max_number": 3, "bounding_box_format": "xyxy", "data_format": "channels_last"})"));
}

TEST_CASE("Pipeline is its layers in sequence, in a call, in training and in its config", "[preprocessing]") {
  const auto twice = layers::pipeline(
      std::vector<LayerPtr>{layers::rescaling({.scale = 0.5}), layers::dense({.units = 3}), layers::dropout(0.5)});
  const Tensor x = waves({4, 2}), y = (*twice)(x);
  CHECK(y.shape() == Shape{4, 3});
  CHECK(twice->count_params() == 9);
  CHECK_FALSE(testing::same_bits((*twice)(x, true), y));
  const LayerPtr again = from_json<Layer>(to_json<Layer>(*twice));
  (*again)(x);
  again->set_weights(twice->get_weights());
  CHECK(testing::same_bits((*again)(x), y));
  CHECK_THAT(error_of([] { layers::pipeline(std::vector<LayerPtr>{}); }), ContainsSubstring("no layers"));
}

}  // namespace etude
