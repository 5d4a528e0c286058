#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

#include "training_samples.hpp"

// Layers with random draws.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::WithinAbs;

}  // namespace

TEST_CASE("dropout zeroes a fraction of the elements and scales the rest, in training only (A-11)", "[layers]") {
  const Tensor x = filled({100, 100}, 2);
  const double rate = GENERATE(0.25, 0.5, 0.9);
  const LayerPtr dropout = layers::dropout(rate);
  const auto y = numbers((*dropout)(x, true));
  std::int64_t zeros = 0;
  double worst = 0;
  for (const double element : y) {
    zeros += element == 0;
    if (element != 0) worst = std::max(worst, std::abs(element - 2 / (1 - rate)));
  }
  CHECK_THAT(static_cast<double>(zeros) / 1e4, WithinAbs(rate, 0.02));
  CHECK(worst < 1e-5);
  CHECK(numbers((*dropout)(x, false)) == numbers(x));
}

TEST_CASE("dropout of rate 0 is the identity, of rate 1 zero", "[layers]") {
  const Tensor x = waves({5, 4});
  CHECK(numbers((*layers::dropout(0.0))(x, true)) == numbers(x));
  for (const double element : numbers((*layers::dropout(1.0))(x, true))) CHECK(element == 0);
}

TEST_CASE("dropout draws new numbers at each call, and the same for the same seed", "[layers]") {
  const Tensor x = filled({20, 20}, 1);
  const auto draws = [&](const LayerPtr& layer) {
    return std::vector{numbers((*layer)(x, true)), numbers((*layer)(x, true))};
  };
  const auto seeded = draws(layers::dropout({.rate = 0.5, .seed = 3}));
  CHECK(seeded[0] != seeded[1]);
  CHECK(draws(layers::dropout({.rate = 0.5, .seed = 3})) == seeded);
  CHECK(draws(layers::dropout({.rate = 0.5, .seed = 4})) != seeded);

  set_random_seed(7);
  const LayerPtr first = layers::dropout(0.5), second = layers::dropout(0.5);
  const auto one = draws(first);
  CHECK(draws(second) != one);
  set_random_seed(7);
  CHECK(draws(layers::dropout(0.5)) == one);
  set_random_seed(0);
}

TEST_CASE("gaussian noise is normal with mean 0 and its standard deviation, in training only", "[layers]") {
  const Tensor x = filled({200, 200}, 3);
  const LayerPtr noise = layers::gaussian_noise({.stddev = 0.5, .seed = 11});
  const auto drawn = numbers((*noise)(x, true));
  double sum = 0, squares = 0, fourths = 0, within = 0;
  for (const double element : drawn) {
    const double z = (element - 3) / 0.5;
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
    within += std::abs(z) < 1;
  }
  const double count = 4e4;
  CHECK_THAT(sum / count, WithinAbs(0, 0.02));
  CHECK_THAT(squares / count, WithinAbs(1, 0.03));
  CHECK_THAT(fourths / count, WithinAbs(3, 0.2));
  CHECK_THAT(within / count, WithinAbs(0.6827, 0.01));
  CHECK(numbers((*noise)(x, true)) != drawn);
  CHECK(numbers((*layers::gaussian_noise({.stddev = 0.5, .seed = 11}))(x, true)) == drawn);
  CHECK(numbers((*noise)(x, false)) == numbers(x));
  CHECK_THROWS_AS(layers::gaussian_noise({.stddev = -1}), Error);
}

TEST_CASE("dropout: training is reproducible from the seed", "[layers]") {
  const auto train = [](std::uint64_t seed) {
    set_random_seed(seed);
    Sequential model(
        {layers::dense({.units = 8, .activation = "relu"}), layers::dropout(0.3), layers::dense({.units = 1})});
    model.compile(mse());
    const Tensor x = waves({20, 3});
    model.fit(x, signs_of(x), {.batch_size = 6, .epochs = 3, .verbose = 0});
    set_random_seed(0);
    return weights_of(model);
  };
  CHECK(train(5) == train(5));
  CHECK(train(5) != train(6));
}

}  // namespace etude
