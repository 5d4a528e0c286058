#include "etude/layers/detail/color_ops.hpp"

#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::color_ops {
namespace {

constexpr image_ops::Range fractions{0, 1}, bytes{0, 255};

Value clipped(Value x, image_ops::Range range) { return ops::clip(x, range.low, range.high); }

/// `changed` for the images whose chance is below the factor.
Value by_chance(const Arguments& given, Value changed) {
  return ops::where(ops::less(given.chance, given.factor), changed, given.images);
}

Value brighten(const Arguments& given) {
  return clipped(given.images + given.factor * (given.value_range.high - given.value_range.low), given.value_range);
}

Value change_contrast(const Arguments& given) {
  const Value mean = ops::mean(given.images, {1, 2}, true);
  return clipped((given.images - mean) * given.factor + mean, given.value_range);
}

Value decolor(const Arguments& given) { return by_chance(given, image_ops::grayscale(given.images, given.where)); }

Value turn_hue(const Arguments& given) {
  image_ops::Colors hsv = image_ops::rgb_to_hsv(
      image_ops::channels_of(image_ops::scaled(given.images, given.value_range, fractions), given.where));
  const Value zero = ops::scalar(0, hsv.first), one = ops::scalar(1, hsv.first);
  const Value turned = given.factor * 0.5;
  const Value hue = hsv.first + ops::where(ops::less(given.chance, ops::scalar(0.5, turned)), turned, -turned);
  hsv.first = hue - ops::cast(ops::less(one, hue), hue.dtype()) + ops::cast(ops::less(hue, zero), hue.dtype());
  return image_ops::scaled(clipped(image_ops::joined(image_ops::hsv_to_rgb(hsv)), fractions), fractions,
                           given.value_range);
}

Value invert(const Arguments& given) {
  return by_chance(given, given.value_range.low + given.value_range.high - given.images);
}

/// Keeps the highest `factor` of eight bits.
Value posterize(const Arguments& given) {
  const Value x = image_ops::scaled(given.images, given.value_range, bytes);
  const Value bits = 8 - ops::floor(given.factor);
  const Value step = ops::floor(ops::power(ops::scalar(2, bits), bits) + 0.5);
  return image_ops::scaled(ops::floor(ops::floor(clipped(x, bytes)) / step) * step, bytes, given.value_range);
}

Value saturate(const Arguments& given) {
  image_ops::Colors hsv = image_ops::rgb_to_hsv(image_ops::channels_of(given.images, given.where));
  hsv.second = clipped(hsv.second * (given.factor / (1 - given.factor + 1e-7)), fractions);
  return image_ops::joined(image_ops::hsv_to_rgb(hsv));
}

Value sharpen(const Arguments& given) {
  constexpr double edge = 1.0 / 13, center = 5.0 / 13;
  const Value around = image_ops::filtered(given.images, ops::full({3, 3}, edge, given.images.dtype()));
  const Value smooth = around + given.images * (center - edge);
  return clipped(given.images + (1 - given.factor * 2) * (smooth - given.images), given.value_range);
}

}  // namespace

const Change brightness{{-1, 1}, -1, false, brighten};
const Change contrast{{0, 1}, 0, true, change_contrast};
const Change grayscale{{0, 1}, 0, false, decolor};
const Change hue{{0, 1}, 0, false, turn_hue};
const Change inversion{{0, 1}, 0, false, invert};
const Change posterization{{1, 8}, 1, false, posterize};
const Change saturation{{0, 1}, 0, false, saturate};
const Change sharpness{{0, 1}, 0, false, sharpen};

image_ops::Range strengths(const Change& change, const char* name, const Doubles& given, std::string_view where) {
  const image_ops::Range range = image_ops::range_of(name, given, change.bounds, change.floor, where);
  if (!change.around_one) return range;
  return {1 - (given.all().size() == 1 ? range.high : range.low), 1 + range.high};
}

}  // namespace etude::color_ops
