#include "etude/layers/preprocessing_augmentation.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/layers/preprocessing_color.hpp"
#include "etude/layers/preprocessing_images.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

RandAugment::RandAugment(const RandAugmentOptions& options)
    : RandomImageLayer(class_entry<RandAugment>, options), count_(options.num_ops) {
  check(count_ > 0 && count_ <= 100, ErrorKind::value, where(), "num_ops = ", count_,
        " - expected 1 to 100 - set num_ops.");
  const image_ops::Range range = image_ops::range_of("factor", options.factor, image_ops::fractions, 0, where());
  const Doubles factor{range.low, range.high};
  const std::string& interpolation = options.interpolation;
  // `transform` gets images of this dtype.
  const std::string dtype = compute_dtype() == DType::float64 ? "float64" : "float32";
  const RandomColorOptions color{
      .factor = factor, .value_range = options.value_range, .seed = options.seed, .dtype = dtype};
  RandomColorOptions posterization = color;
  posterization.factor = std::max(1.0, std::floor(8 * range.high));
  changes_ = {
      layers::random_shear({.x_factor = factor,
                            .y_factor = factor,
                            .interpolation = interpolation,
                            .seed = options.seed,
                            .dtype = dtype}),
      layers::random_translation({.height_factor = factor,
                                  .width_factor = factor,
                                  .interpolation = interpolation,
                                  .seed = options.seed,
                                  .dtype = dtype}),
      layers::random_rotation({.factor = factor, .interpolation = interpolation, .seed = options.seed, .dtype = dtype}),
      layers::random_brightness(color),
      layers::random_color_degeneration(color),
      layers::random_contrast(color),
      layers::random_sharpness(color),
      layers::random_posterization(posterization),
      layers::solarization({.addition_factor = factor,
                            .threshold_factor = factor,
                            .value_range = options.value_range,
                            .seed = options.seed,
                            .dtype = dtype}),
      layers::auto_contrast({.value_range = options.value_range, .dtype = dtype}),
      layers::equalization({.value_range = options.value_range, .dtype = dtype})};
  // With equal keys the choice of a change and its strength would be the same number.
  for (std::size_t i = 0; options.seed && i < changes_.size(); ++i)
    if (changes_[i]->random_key())
      changes_[i]->set_random_key({changes_[i]->random_key()->seed, static_cast<std::uint32_t>(i + 1)});
}

Value RandAugment::transform(Value images) {
  const auto kinds = static_cast<double>(changes_.size());
  for (std::int64_t i = 0; i < count_; ++i) {
    const Value kind = ops::clip(ops::floor(draw(images, {0, kinds})), 0, kinds - 1);
    const Value given = images;
    for (std::size_t j = 0; j < changes_.size(); ++j)
      images =
          ops::where(ops::equal(kind, ops::scalar(static_cast<double>(j), kind)), (*changes_[j])(given, true), images);
  }
  return images;
}

}  // namespace etude
