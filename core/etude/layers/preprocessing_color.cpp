#include "etude/layers/preprocessing_color.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

using image_ops::bytes, image_ops::fractions;

Value RandomColor::transform(Value images) {
  const std::vector<Value> drawn = draws(images, {factor_, fractions});
  return change_.apply({images, drawn[0], drawn[1], value_range_, where()});
}

RandomGrayscale::RandomGrayscale(const RandomGrayscaleOptions& options)
    : RandomColor(class_entry<RandomGrayscale>, options, color_ops::grayscale) {}

RandomColorJitter::RandomColorJitter(RandomColorJitterOptions options)
    : RandomImageLayer(class_entry<RandomColorJitter>, options),
      options_(described_options<RandomColorJitterOptions>()) {
  static_cast<void>(image_ops::value_range_of(options_.value_range, where()));
  for (const Step& step : steps())
    if (!step.factor.empty()) static_cast<void>(color_ops::strengths(step.change, step.name, step.factor, where()));
}

std::array<RandomColorJitter::Step, 4> RandomColorJitter::steps() const {
  return {{{"brightness_factor", options_.brightness_factor, color_ops::brightness},
           {"contrast_factor", options_.contrast_factor, color_ops::contrast},
           {"saturation_factor", options_.saturation_factor, color_ops::saturation},
           {"hue_factor", options_.hue_factor, color_ops::hue}}};
}

Value RandomColorJitter::transform(Value images) {
  const image_ops::Range range = image_ops::value_range_of(options_.value_range, where());
  for (const Step& step : steps()) {
    if (step.factor.empty()) continue;
    const std::vector<Value> drawn =
        draws(images, {color_ops::strengths(step.change, step.name, step.factor, where()), fractions});
    images = step.change.apply({images, drawn[0], drawn[1], range, where()});
  }
  return images;
}

RandomGaussianBlur::RandomGaussianBlur(const RandomGaussianBlurOptions& options)
    : RandomImageLayer(class_entry<RandomGaussianBlur>, options),
      factor_(image_ops::range_of("factor", options.factor, fractions, 0, where())),
      sigma_(image_ops::range_of("sigma", options.sigma, {0, 1e6}, 0, where())),
      value_range_(image_ops::value_range_of(options.value_range, where())) {
  const std::vector<std::int64_t>& sizes = options.kernel_size.all();
  constexpr std::int64_t most = 65535;
  bool fits = sizes.size() == 1 || sizes.size() == 2;
  for (const std::int64_t size : sizes) fits &= size > 0 && size <= most && size % 2 == 1;
  check(fits, ErrorKind::value, where(), "kernel_size = ", options.kernel_size,
        " - expected one or two odd numbers from 1 to ", most, " - set kernel_size.");
  width_ = sizes.front();
  height_ = sizes.back();
}

Value RandomGaussianBlur::transform(Value images) {
  const auto bell = [&](std::int64_t size, std::ptrdiff_t axis) {
    const Value sigma = draw(images, sigma_) + 1e-6;
    const Value at = (image_ops::arange(size, axis, images) - static_cast<double>(size - 1) / 2) / sigma;
    const Value weights = ops::exp(ops::square(at) * -0.5);
    return weights / ops::sum(weights, {axis}, true);
  };
  const Value row = bell(width_, 1), column = bell(height_, 0);
  const Value blurred = image_ops::filtered(images, ops::reshape(column * row, {height_, width_}));
  const std::vector<Value> drawn = draws(images, {factor_, fractions});
  return ops::clip(ops::where(ops::less(drawn[1], drawn[0]), blurred, images), value_range_.low, value_range_.high);
}

Solarization::Solarization(const SolarizationOptions& options)
    : RandomImageLayer(class_entry<Solarization>, options),
      addition_(image_ops::range_of("addition_factor", options.addition_factor, fractions, 0, where())),
      threshold_(image_ops::range_of("threshold_factor", options.threshold_factor, fractions, 0, where())),
      value_range_(image_ops::value_range_of(options.value_range, where())) {}

Value Solarization::transform(Value images) {
  const std::vector<Value> drawn = draws(images, {addition_, threshold_});
  const Value x = ops::clip(image_ops::scaled(images, value_range_, bytes) + drawn[0] * 255, 0, 255);
  return image_ops::scaled(ops::where(ops::less(x, drawn[1] * 255), x, 255 - x), bytes, value_range_);
}

RandomBrightness::RandomBrightness(const RandomColorOptions& options)
    : RandomColor(class_entry<RandomBrightness>, options, color_ops::brightness) {}
RandomContrast::RandomContrast(const RandomColorOptions& options)
    : RandomColor(class_entry<RandomContrast>, options, color_ops::contrast) {}
RandomColorDegeneration::RandomColorDegeneration(const RandomColorOptions& options)
    : RandomColor(class_entry<RandomColorDegeneration>, options, color_ops::degeneration) {}
RandomHue::RandomHue(const RandomColorOptions& options)
    : RandomColor(class_entry<RandomHue>, options, color_ops::hue) {}
RandomSaturation::RandomSaturation(const RandomColorOptions& options)
    : RandomColor(class_entry<RandomSaturation>, options, color_ops::saturation) {}
RandomSharpness::RandomSharpness(const RandomColorOptions& options)
    : RandomColor(class_entry<RandomSharpness>, options, color_ops::sharpness) {}
RandomPosterization::RandomPosterization(const RandomColorOptions& options)
    : RandomColor(class_entry<RandomPosterization>, options, color_ops::posterization) {}
RandomInvert::RandomInvert(const RandomInvertOptions& options)
    : RandomColor(class_entry<RandomInvert>, options, color_ops::inversion) {}

}  // namespace etude
