#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <numbers>
#include <set>

#include "etude/ops/shape.hpp"
#include "files_in_memory.hpp"
#include "preprocessing_samples.hpp"
#include "support.hpp"

// Layers that change images at random: what they draw, and when. conformance/preprocessing.json has the numbers of what
// they compute from draws.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using testing::difference;
using testing::same_bits;
using testing::tensor_of;

/// [images, 9, 9, 2], whose channels are the coordinates x and y of each pixel, from -4 to 4.
Tensor coordinates(std::int64_t images) {
  Tensor tensor({images, 9, 9, 2});
  std::size_t at = 0;
  for (float& element : tensor.data<float>()) {
    const std::size_t pixel = at / 2 % 81;
    element = static_cast<float>(at++ % 2 == 0 ? pixel % 9 : pixel / 9) - 4;
  }
  return tensor;
}

/// The coordinates in the image that a transform of `coordinates` shows in its center, and the changes from there to
/// the pixel on the right, and to that below: {x, y, dx/dx, dy/dx, dx/dy, dy/dy} of each image.
std::vector<std::array<double, 6>> maps_of(const Tensor& y) {
  std::vector<std::array<double, 6>> result;
  for (std::int64_t i = 0; i < y.shape()[0]; ++i) {
    const auto at = [&](std::int64_t row, std::int64_t column, std::int64_t channel) {
      return y.at(((i * 9 + row) * 9 + column) * 2 + channel);
    };
    const double x0 = at(4, 4, 0), y0 = at(4, 4, 1);
    result.push_back({x0, y0, at(4, 5, 0) - x0, at(4, 5, 1) - y0, at(5, 4, 0) - x0, at(5, 4, 1) - y0});
  }
  return result;
}

}  // namespace

TEST_CASE("random layers of images return their inputs outside of training", "[preprocessing]") {
  const Tensor x = photos({2, 5, 4, 3});
  for (const ImageClass& each : random_image_classes()) {
    CAPTURE(each.name);
    CHECK(same_bits((*layer_of(each.name, each.config))(x, false), x));
  }
}

TEST_CASE("random layers of images draw new numbers for each call and image, and the same for the same seed",
          "[preprocessing]") {
  Tensor x = photos({12, 6, 5, 3});
  for (std::int64_t i = 1; i < 12; ++i)  // equal images
    std::ranges::copy(x.rows(0, 1).data<float>(), x.rows(i, i + 1).data<float>().begin());
  for (const ImageClass& each : random_image_classes()) {
    CAPTURE(each.name);
    const bool mixes = std::string_view(each.name).ends_with("Mix") || std::string_view(each.name) == "MixUp";
    const Tensor batch = mixes ? photos({12, 6, 5, 3}) : x;
    const auto two_calls = [&](const LayerPtr& layer) {
      return std::vector{numbers(changed(layer, batch)), numbers(changed(layer, batch))};
    };
    const auto seeded = two_calls(layer_of(each.name, each.config, R"("seed": 3)"));
    CHECK(seeded[0] != seeded[1]);
    CHECK(two_calls(layer_of(each.name, each.config, R"("seed": 3)")) == seeded);
    CHECK(two_calls(layer_of(each.name, each.config, R"("seed": 4)")) != seeded);
    const std::size_t image = seeded[0].size() / 12;
    std::set<std::vector<double>> kinds;
    for (std::size_t i = 0; i < 12; ++i)
      kinds.emplace(seeded[0].begin() + std::ptrdiff_t(i * image), seeded[0].begin() + std::ptrdiff_t((i + 1) * image));
    CHECK(kinds.size() > 1);
    const auto by_global_seed = [&](std::uint64_t seed) {
      set_random_seed(seed);
      const auto result = two_calls(layer_of(each.name, each.config));
      set_random_seed(0);
      return result;
    };
    CHECK(by_global_seed(7) == by_global_seed(7));
    CHECK(by_global_seed(7) != by_global_seed(8));
  }
}

TEST_CASE("layers with a value_range compute alike for scaled values", "[preprocessing]") {
  const Tensor x = photos({6, 5, 4, 3});
  const Tensor unit = (*layers::rescaling({.scale = 1.0 / 255}))(x);
  for (const ImageClass& each : random_image_classes()) {
    if (!each.takes_range) continue;
    CAPTURE(each.name);
    const Tensor bytes = changed(layer_of(each.name, each.config, R"("seed": 5)"), x);
    const Tensor units = changed(layer_of(each.name, each.config, R"("seed": 5, "value_range": [0, 1])"), unit);
    // A value that is rounded to another bin of posterization, or crosses the threshold of solarization, may jump.
    const bool jumps = std::string_view(each.name) == "RandomPosterization";
    if (!jumps) CHECK(difference((*layers::rescaling({.scale = 255}))(units), bytes, {0.02, 1e-4}) == "");
  }
}

TEST_CASE("RandomFlip flips half of the images, exactly", "[preprocessing]") {
  const Tensor x = photos({many, 2, 3, 1});
  const auto flipped = [&](const char* mode, std::vector<std::size_t> order) {
    const Tensor y = changed(layers::random_flip({.mode = mode, .seed = 2}), x);
    int count = 0;
    for (std::int64_t i = 0; i < many; ++i) {
      const std::vector<double> before = numbers(x.rows(i, i + 1)), after = numbers(y.rows(i, i + 1));
      std::vector<double> expected;
      for (const std::size_t place : order) expected.push_back(before[place]);
      if (after != before) CHECK(after == expected);
      count += after != before;
    }
    CHECK_THAT(count, WithinAbs(many / 2.0, 50));
  };
  flipped("horizontal", {2, 1, 0, 5, 4, 3});
  flipped("vertical", {3, 4, 5, 0, 1, 2});
  flipped("horizontal_and_vertical", {5, 4, 3, 2, 1, 0});
  CHECK_THAT(error_of([] { layers::random_flip({.mode = "both"}); }), ContainsSubstring("mode = \"both\""));
}

TEST_CASE("RandomCrop shows a window at any place, the same for all images of a batch", "[preprocessing]") {
  const Tensor x = coordinates(2);
  const auto layer = layers::random_crop({.height = 7, .width = 8, .seed = 1});
  std::set<std::pair<double, double>> places;
  for (int call = 0; call < 60; ++call) {
    const Tensor y = changed(layer, x);
    CHECK(y.shape() == Shape{2, 7, 8, 2});
    const std::vector<double> all = numbers(y);
    for (std::size_t i = 0; i < all.size(); i += 2) {
      const std::size_t pixel = i / 2 % 56;
      CHECK(all[i] == all[0] + static_cast<double>(pixel % 8));
      CHECK(all[i + 1] == all[1] + static_cast<double>(pixel / 8));
    }
    places.emplace(all[0], all[1]);
  }
  CHECK(places.size() == 6);  // 3 rows, 2 columns
}

TEST_CASE("RandomCrop shows the resized center outside of training, and of smaller images", "[preprocessing]") {
  const Tensor x = photos({1, 6, 8, 1});
  const LayerPtr crop = layers::random_crop({.height = 3, .width = 3, .seed = 1});
  const Tensor center = (*layers::resizing({.height = 3, .width = 3, .crop_to_aspect_ratio = true}))(x);
  CHECK(difference((*crop)(x, false), center) == "");
  const LayerPtr large = layers::random_crop({.height = 8, .width = 4, .seed = 1});
  const Tensor enlarged = (*layers::resizing({.height = 8, .width = 4, .crop_to_aspect_ratio = true}))(x);
  CHECK(difference(changed(large, x), enlarged) == "");
}

TEST_CASE("transforms draw from their intervals, evenly", "[preprocessing]") {
  const Tensor x = coordinates(many);
  const auto measured = [&](const LayerPtr& layer, const auto& measure) {
    std::vector<double> all;
    for (const auto& map : maps_of(changed(layer, x))) all.push_back(measure(map));
    return all;
  };
  const auto entry = [](std::size_t i) { return [i](const auto& map) { return map[i]; }; };
  // The image moves right, so that its center shows what was on the left.
  const LayerPtr moves = layers::random_translation({.height_factor = {-0.1, 0.3}, .width_factor = 0.2, .seed = 3});
  check_uniform(measured(moves, entry(0)), -0.2 * 9, 0.2 * 9);
  check_uniform(measured(moves, entry(1)), -0.3 * 9, 0.1 * 9);
  const LayerPtr zooms = layers::random_zoom({.height_factor = 0.3, .width_factor = {-0.4, -0.2}, .seed = 3});
  check_uniform(measured(zooms, entry(2)), 0.6, 0.8);
  check_uniform(measured(zooms, entry(5)), 0.7, 1.3);
  for (const double difference : measured(layers::random_zoom({.height_factor = 0.3, .seed = 3}),
                                          [](const auto& map) { return map[2] - map[5]; }))
    CHECK_THAT(difference, WithinAbs(0, 1e-5));
  const LayerPtr turns = layers::random_rotation({.factor = 0.2, .seed = 3});
  check_uniform(measured(turns, [](const auto& map) { return std::atan2(map[3], map[2]) / (2 * std::numbers::pi); }),
                -0.2, 0.2);
  for (const double area : measured(turns, [](const auto& map) { return map[2] * map[5] - map[3] * map[4]; }))
    CHECK_THAT(area, WithinAbs(1, 1e-4));
  const LayerPtr shears = layers::random_shear({.x_factor = {0.1, 0.3}, .seed = 3});
  int positive = 0;
  std::vector<double> sizes;
  for (const double shear : measured(shears, entry(4))) {
    positive += shear > 0;
    sizes.push_back(std::abs(shear));
  }
  check_uniform(sizes, 0.1, 0.3);
  CHECK_THAT(positive, WithinAbs(many / 2.0, 50));
}

TEST_CASE("factors and names out of range are errors", "[preprocessing][errors]") {
  CHECK_THAT(error_of([] { layers::random_rotation({.factor = 1.5}); }),
             ContainsSubstring("factor = [1.5] - expected one or two numbers from -1 to 1"));
  CHECK_THAT(error_of([] { layers::random_rotation({}); }), ContainsSubstring("factor = [] - expected one or two"));
  CHECK_THAT(error_of([] { layers::random_shear({.x_factor = -0.1}); }), ContainsSubstring("x_factor = [-0.1]"));
  CHECK_THAT(error_of([] { layers::random_zoom({.height_factor = {0.1, 0.2, 0.3}}); }),
             ContainsSubstring("height_factor = [0.1, 0.2, 0.3]"));
  CHECK_THAT(error_of([] { layers::random_rotation({.factor = 0.1, .fill_mode = "mirror"}); }),
             ContainsSubstring("fill_mode = \"mirror\""));
  CHECK_THAT(error_of([] { layers::random_rotation({.factor = 0.1, .interpolation = "cubic"}); }),
             ContainsSubstring("interpolation = \"cubic\""));
  CHECK_THAT(error_of([] { layers::random_posterization({.factor = 9.0}); }), ContainsSubstring("from 1 to 8"));
  CHECK_THAT(error_of([] { layers::random_gaussian_blur({.kernel_size = 4}); }), ContainsSubstring("kernel_size = 4"));
  CHECK_THAT(error_of([] { layers::mix_up({.alpha = 0}); }), ContainsSubstring("alpha = 0"));
  CHECK_THAT(error_of([] { changed(layers::random_hue({.factor = 0.1}), photos({1, 2, 2, 2})); }),
             ContainsSubstring("images of 2 channels - expected red, green and blue"));
  CHECK_THAT(error_of([] { changed(layers::random_erasing({.fill_value = {1, 2}}), photos({1, 2, 2, 3})); }),
             ContainsSubstring("2 numbers as fill_value for 3 channels"));
}

TEST_CASE("MixUp and CutMix mix each image with another one of the batch, and labels in the same way",
          "[preprocessing]") {
  // Image i has the value i, so that a mixed value says which images are in it.
  Tensor x({many, 8, 8, 1}), labels({many, many});
  for (std::size_t i = 0; i < many; ++i) {
    std::ranges::fill(x.data<float>().subspan(64 * i, 64), static_cast<float>(i));
    labels.data<float>()[i * many + i] = 1;
  }
  for (const bool cuts : {false, true}) {
    CAPTURE(cuts);
    const LayerPtr layer = cuts ? LayerPtr(layers::cut_mix({.seed = 2})) : LayerPtr(layers::mix_up({.seed = 2}));
    const Tensor both = testing::run({x, labels}, [&](std::span<const Value> given) {
      const Outputs outputs = (*layer)({given[0], given[1]}, true);
      return ops::concatenate({ops::reshape(outputs[0], {many, 64}), outputs[1]}, 1);
    });
    std::set<std::int64_t> partners;
    double shares = 0, squares = 0;
    for (std::int64_t i = 0; i < many; ++i) {
      const auto at = [&](std::int64_t column) { return both.at(i * (64 + many) + column); };
      double sum = 0, pixels = 0;
      std::int64_t partner = i;
      for (std::int64_t j = 0; j < many; ++j) {
        sum += at(64 + j);
        if (j != i && at(64 + j) > 0) partner = j;
      }
      CHECK_THAT(sum, WithinAbs(1, 1e-5));
      const double share = at(64 + i);
      for (std::int64_t pixel = 0; pixel < 64; ++pixel) {
        pixels += at(pixel);
        if (cuts) CHECK((at(pixel) == static_cast<double>(i) || at(pixel) == static_cast<double>(partner)));
      }
      const double expected = share * static_cast<double>(i) + (1 - share) * static_cast<double>(partner);
      // A box covers whole pixels; its share does not.
      CHECK_THAT(pixels / 64, WithinAbs(expected, cuts ? 0.3 * static_cast<double>(many) : 1e-2));
      partners.insert(partner);
      shares += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    CHECK(static_cast<double>(partners.size()) > 0.9 * many);  // a permutation; some shares are 0 or 1
    CHECK_THAT(shares / many, WithinAbs(0.5, 0.06));
    if (!cuts) CHECK_THAT(squares / many, WithinAbs(0.1786, 0.02));  // 1 / (4 (2 · 0.2 + 1))
  }
  CHECK(same_bits(changed(layers::mix_up({.seed = 1}), x.rows(3, 4).clone()), x.rows(3, 4).clone()));
}

TEST_CASE("training with random layers continues with the same bits from a saved model", "[preprocessing][saving]") {
  const testing::FilesInMemory scope;
  const Tensor x = (*layers::rescaling({.scale = 1.0 / 255}))(photos({20, 6, 6, 3})), y = signs_of(waves({20, 3}));
  std::vector<LayerPtr> all{layers::random_crop({.height = 5, .width = 5})};
  for (const ImageClass& each : random_image_classes())
    all.push_back(layer_of(each.name, each.config, each.takes_range ? R"("value_range": [0, 1])" : ""));
  all.insert(all.end(), {layers::flatten(), layers::dense({.units = 1})});
  Sequential model(all);
  model.compile(mse(0.01));
  const auto epochs = [](int first, int last) {
    return FitOptions{.batch_size = 6, .epochs = last, .verbose = 0, .initial_epoch = first};
  };
  model.fit(x, y, epochs(0, 2));
  model.save("model");
  const ModelPtr loaded = load_model("model");
  const auto history = model.fit(x, y, epochs(2, 4)), again = loaded->fit(x, y, epochs(2, 4));
  CHECK(again->history() == history->history());
  CHECK(weights_of(*loaded) == weights_of(model));
  CHECK(std::isfinite(history->history().front().second.back()));
}

}  // namespace etude
