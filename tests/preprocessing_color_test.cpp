#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <map>
#include <set>

#include "preprocessing_samples.hpp"
#include "support.hpp"

// Layers that change colors and pixels at random: the strengths that they draw, and their results.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::WithinAbs;
using testing::difference;
using testing::same_bits;
using testing::tensor_of;

}  // namespace

TEST_CASE("colors: strengths are drawn from their intervals, evenly", "[preprocessing]") {
  const auto of = [](const LayerPtr& layer, std::vector<double> pixel, const auto& measure) {
    Tensor x({many, 1, 1, std::ssize(pixel)});
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i)
      x.data<float>()[i] = static_cast<float>(pixel[i % pixel.size()]);
    const std::vector<double> all = numbers(changed(layer, x));
    std::vector<double> result;
    for (std::size_t i = 0; i < all.size(); i += pixel.size())
      result.push_back(
          measure(std::vector(all.begin() + std::ptrdiff_t(i), all.begin() + std::ptrdiff_t(i + pixel.size()))));
    return result;
  };
  const auto first = [](const std::vector<double>& pixel) { return pixel[0]; };
  check_uniform(of(layers::random_brightness({.factor = 0.2, .seed = 1}), {100}, first), 100 - 51, 100 + 51);
  // Saturation s · f / (1 - f) of a pixel with s = 0.2, as long as it is below 1.
  const LayerPtr saturates = layers::random_saturation({.factor = {0.2, 0.6}, .seed = 1});
  check_uniform(of(saturates, {200, 180, 160},
                   [](const std::vector<double>& pixel) {
                     const double s = (1 - pixel[2] / pixel[0]) / 0.2;
                     return s / (1 + s);
                   }),
                0.2, 0.6);
  // The hue of red, in turns.
  const LayerPtr turns = layers::random_hue({.factor = 0.2, .seed = 1});
  check_uniform(
      of(turns, {200, 0, 0}, [](const std::vector<double>& pixel) { return (pixel[1] - pixel[2]) / 200 / 6; }), -0.1,
      0.1);
  std::map<double, int> bits;
  for (const double value : of(layers::random_posterization({.factor = 5.0, .seed = 1}), {255}, first)) ++bits[value];
  CHECK(bits.size() == 4);
  for (const auto& [value, count] : bits) CHECK_THAT(count, WithinAbs(many / 4.0, 50));
  CHECK(bits.begin()->first == 128);
  CHECK(bits.rbegin()->first == 240);
}

TEST_CASE("RandomContrast keeps the mean of a channel, and scales deviations by 1 - factor to 1 + factor",
          "[preprocessing]") {
  Tensor x({many, 1, 2, 1});
  for (std::size_t i = 0; i < 2 * many; ++i) x.data<float>()[i] = i % 2 ? 110 : 90;
  const std::vector<double> y = numbers(changed(layers::random_contrast({.factor = 0.4, .seed = 1}), x));
  std::vector<double> scales;
  for (std::size_t i = 0; i < y.size(); i += 2) {
    CHECK_THAT(y[i] + y[i + 1], WithinAbs(200, 1e-3));
    scales.push_back((y[i + 1] - y[i]) / 20);
  }
  check_uniform(scales, 0.6, 1.4);
}

TEST_CASE("chances: RandomInvert, RandomGrayscale, RandomGaussianBlur and RandomErasing change a share of the images",
          "[preprocessing]") {
  const Tensor x = photos({many, 5, 5, 3});
  const auto share = [&](const LayerPtr& layer) {
    const Tensor y = changed(layer, x);
    double count = 0;
    for (std::int64_t i = 0; i < many; ++i) count += !same_bits(x.rows(i, i + 1).clone(), y.rows(i, i + 1).clone());
    return count / many;
  };
  CHECK_THAT(share(layers::random_invert({.seed = 1})), WithinAbs(0.5, 0.1));  // chances from 0 to 1
  CHECK_THAT(share(layers::random_invert({.factor = {0.2, 0.2}, .seed = 1})), WithinAbs(0.2, 0.07));
  CHECK_THAT(share(layers::random_grayscale({.factor = 0.3, .seed = 1})), WithinAbs(0.3, 0.08));
  CHECK_THAT(share(layers::random_gaussian_blur({.factor = {0.4, 0.4}, .seed = 1})), WithinAbs(0.4, 0.08));
  CHECK_THAT(share(layers::random_erasing({.factor = {0.6, 0.6}, .scale = {0.3, 0.3}, .seed = 1})),
             WithinAbs(0.6, 0.08));
}

TEST_CASE("RandomGaussianBlur keeps flat areas, and smooths others", "[preprocessing]") {
  const LayerPtr blur = layers::random_gaussian_blur({.factor = {1, 1}, .kernel_size = 3, .sigma = {1, 1}, .seed = 1});
  const Tensor flat = changed(blur, filled({1, 5, 5, 1}, 100));
  CHECK_THAT(flat.at(12), WithinAbs(100, 1e-3));  // the center
  CHECK(flat.at(0) < 60);                         // a corner, beside zeros
}

TEST_CASE("RandomErasing replaces a box of the drawn share, by a value or by noise", "[preprocessing]") {
  const Tensor x = filled({many, 20, 20, 1}, 100);
  const auto area = [](const Tensor& y, std::int64_t image) {
    double count = 0;
    for (std::int64_t i = 0; i < 400; ++i) count += y.at(400 * image + i) != 100;
    return count / 400;
  };
  const Tensor y =
      changed(layers::random_erasing({.factor = {1, 1}, .scale = {0.1, 0.3}, .fill_value = 7, .seed = 1}), x);
  double sum = 0;
  for (std::int64_t i = 0; i < many; ++i) {
    // Sides are of whole pixels: one more or less than the square root of the share.
    CHECK(area(y, i) > 0.05);
    CHECK(area(y, i) < 0.4);
    sum += area(y, i);
  }
  CHECK_THAT(sum / many, WithinAbs(0.2, 0.02));
  for (const double value : numbers(y)) CHECK((value == 7 || value == 100));
  std::set<double> noise;
  for (const double value : numbers(changed(layers::random_erasing({.factor = {1, 1}, .seed = 1}), x))) {
    CHECK((value >= 0 && value <= 255));
    noise.insert(value);
  }
  CHECK(noise.size() > 1000);
  const LayerPtr red = layers::random_erasing({.factor = {1, 1}, .scale = {1, 1}, .fill_value = {9, 8, 7}, .seed = 1});
  CHECK(numbers(changed(red, photos({1, 1, 1, 3}))) == std::vector<double>{9, 8, 7});
}

}  // namespace etude
