#include "etude/layers/preprocessing_augmentation.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/layers/preprocessing_color.hpp"
#include "etude/layers/preprocessing_images.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

namespace {

/// The options that the changes share.
struct Given {
  const Doubles& value_range;
  const Doubles& factor;
  const std::string& interpolation;
  const std::optional<std::int64_t>& seed;
  /// Whether colors and sharpness are changed, too.
  bool all;
};

/// The layers among which changes are drawn, for images of the dtype that `transform` gets.
std::vector<LayerPtr> changes_of(const Given& given, DType compute_dtype, const std::string& where) {
  const image_ops::Range range = image_ops::range_of("factor", given.factor, image_ops::fractions, 0, where);
  const Doubles factor{range.low, range.high};
  const std::string dtype = compute_dtype == DType::float64 ? "float64" : "float32";
  const RandomColorOptions color{
      .factor = factor, .value_range = given.value_range, .seed = given.seed, .dtype = dtype};
  RandomColorOptions posterization = color;
  posterization.factor = std::max(1.0, std::floor(8 * range.high));
  std::vector<LayerPtr> changes{
      layers::random_shear({.x_factor = factor,
                            .y_factor = factor,
                            .interpolation = given.interpolation,
                            .seed = given.seed,
                            .dtype = dtype}),
      layers::random_translation({.height_factor = factor,
                                  .width_factor = factor,
                                  .interpolation = given.interpolation,
                                  .seed = given.seed,
                                  .dtype = dtype}),
      layers::random_rotation(
          {.factor = factor, .interpolation = given.interpolation, .seed = given.seed, .dtype = dtype})};
  if (given.all)
    changes.insert(changes.end(), {layers::random_brightness(color), layers::random_color_degeneration(color),
                                   layers::random_contrast(color), layers::random_sharpness(color)});
  changes.insert(changes.end(), {layers::random_posterization(posterization),
                                 layers::solarization({.addition_factor = factor,
                                                       .threshold_factor = factor,
                                                       .value_range = given.value_range,
                                                       .seed = given.seed,
                                                       .dtype = dtype}),
                                 layers::auto_contrast({.value_range = given.value_range, .dtype = dtype}),
                                 layers::equalization({.value_range = given.value_range, .dtype = dtype})});
  // With equal keys the choice of a change and its strength would be the same number.
  for (std::size_t i = 0; given.seed && i < changes.size(); ++i)
    if (changes[i]->random_key())
      changes[i]->set_random_key({changes[i]->random_key()->seed, static_cast<std::uint32_t>(i + 1)});
  return changes;
}

/// The images, changed by the layer of the number `kind`, a scalar; no layer has the number of layers.
Value changed(Value images, Value kind, const std::vector<LayerPtr>& changes) {
  Value result = images;
  for (std::size_t i = 0; i < changes.size(); ++i)
    result =
        ops::where(ops::equal(kind, ops::scalar(static_cast<double>(i), kind)), (*changes[i])(images, true), result);
  return result;
}

}  // namespace

RandAugment::RandAugment(const RandAugmentOptions& options)
    : RandomImageLayer(class_entry<RandAugment>, options), count_(options.num_ops) {
  check(count_ > 0 && count_ <= 100, ErrorKind::value, where(), "num_ops = ", count_,
        " - expected 1 to 100 - set num_ops.");
  changes_ = changes_of({options.value_range, options.factor, options.interpolation, options.seed, true},
                        compute_dtype(), where());
}

Value RandAugment::transform(Value images) {
  const auto kinds = static_cast<double>(changes_.size());
  for (std::int64_t i = 0; i < count_; ++i)
    images = changed(images, ops::clip(ops::floor(draw(images, {0, kinds})), 0, kinds - 1), changes_);
  return images;
}

AugMix::AugMix(const AugMixOptions& options)
    : RandomImageLayer(class_entry<AugMix>, options),
      chains_(options.num_chains),
      depth_(options.chain_depth),
      alpha_(options.alpha),
      value_range_(image_ops::value_range_of(options.value_range, where())) {
  check(chains_ > 0 && chains_ <= 100, ErrorKind::value, where(), "num_chains = ", chains_,
        " - expected 1 to 100 - set num_chains.");
  check(depth_ >= 0 && depth_ <= 100 / chains_, ErrorKind::value, where(), "chain_depth = ", depth_, " for ", chains_,
        " chains - expected 0 or more, and at most 100 changes of all chains - set chain_depth.");
  check(alpha_ >= 1e-6 && std::isfinite(alpha_), ErrorKind::value, where(), "alpha = ", alpha_,
        " - expected a number of at least 1e-6 - set alpha.");
  changes_ = changes_of({options.value_range, options.factor, options.interpolation, options.seed, options.all_ops},
                        compute_dtype(), where());
}

/// Draws `count` shares of 1 from the Dirichlet distribution of equal parameters: [count]. They are gamma variates,
/// divided by their sum: the softmax of their logarithms, which exist for small parameters, too. Source: Marsaglia and
/// Tsang, "A simple method for generating gamma variables", 2000. One of its draws is rejected with a probability of
/// less than 5 %; the first one that is not is taken.
Value AugMix::shares(Value images, std::int64_t count) {
  constexpr std::int64_t tries = 12;
  const double d = (alpha_ < 1 ? alpha_ + 1 : alpha_) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  // The first extent is 1. If it were a multiple of the rows of a batch, each replica would draw only a part.
  const auto positive = [&](const Shape& shape) {
    return 1 - ops::uniform(shape, images.dtype(), key().seed, key().stream, next_call());
  };
  const Value x = ops::normal({1, tries, count}, images.dtype(), key().seed, key().stream, next_call());
  const Value base = 1 + c * x, log_cube = 3 * ops::log(ops::maximum(base, ops::scalar(1e-30, base)));
  const Value accepted =
      ops::logical_and(ops::less(ops::scalar(0, base), base),
                       ops::less(ops::log(positive({1, tries, count})),
                                 0.5 * ops::square(x) + d * (1 - base * ops::square(base) + log_cube)));
  Value logarithm = ops::slice(log_cube, 1, tries - 1, 1);
  for (std::int64_t i = tries - 1; i-- > 0;)
    logarithm = ops::where(ops::slice(accepted, 1, i, 1), ops::slice(log_cube, 1, i, 1), logarithm);
  if (alpha_ < 1) logarithm = logarithm + ops::log(positive({1, 1, count})) / alpha_;
  return ops::reshape(ops::softmax(logarithm), {count});
}

Value AugMix::transform(Value images) {
  const auto kinds = static_cast<double>(changes_.size());
  const Value weights = shares(images, chains_), original = ops::slice(shares(images, 2), 0, 0, 1);
  Value mixed;
  for (std::int64_t i = 0; i < chains_; ++i) {
    Value copy = images;
    for (std::int64_t j = 0; j < depth_; ++j)
      copy = changed(copy, ops::clip(ops::floor(draw(images, {0, kinds + 1})), 0, kinds), changes_);
    copy = copy * ops::slice(weights, 0, i, 1);
    mixed = i == 0 ? copy : mixed + copy;
  }
  return ops::clip(original * images + (1 - original) * mixed, value_range_.low, value_range_.high);
}

}  // namespace etude
