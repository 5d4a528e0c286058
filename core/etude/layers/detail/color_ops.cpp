#include "etude/layers/detail/color_ops.hpp"

#include <limits>

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::color_ops {
namespace {

using image_ops::bytes, image_ops::fractions;

/// Three channels, such as red, green and blue, or hue, saturation and value: each [batch, height, width, 1].
struct Colors {
  Value first, second, third;
};
/// The three channels. Throws Error(shape) for images of others.
Colors channels_of(Value images, std::string_view where) {
  check(images.shape()[3] == 3, ErrorKind::shape, where, "images of ", images.shape()[3],
        " channels - expected red, green and blue - convert the images.");
  const std::vector<Value> parts = ops::split(images, 3, 3);
  return {parts[0], parts[1], parts[2]};
}

/// The images of these channels.
Value images_of(const Colors& channels) {
  return ops::concatenate({channels.first, channels.second, channels.third}, 3);
}

/// The brightness of images of one or three channels: [batch, height, width, 1]. Throws Error(shape) for others.
Value brightness_of(Value images, std::string_view where) {
  if (images.shape()[3] == 1) return images;
  const Colors rgb = channels_of(images, where);
  return rgb.first * 0.2989 + rgb.second * 0.5870 + rgb.third * 0.1140;
}

/// Hue in [0, 1], saturation and value. Source: rgb_to_hsv in keras/src/backend/jax/image.py.
Colors rgb_to_hsv(const Colors& rgb) {
  const Value zero = ops::scalar(0, rgb.first), one = ops::scalar(1, rgb.first);
  const auto is_positive = [&](Value x) { return ops::less(zero, x); };
  const double epsilon = rgb.first.dtype() == DType::float64 ? std::numeric_limits<double>::epsilon()
                                                             : std::numeric_limits<float>::epsilon();
  const auto visible = [&](Value x) {
    return ops::where(ops::less(ops::absolute(x), ops::scalar(epsilon, x)), zero, x);
  };
  const Value red = visible(rgb.first), green = visible(rgb.second), blue = visible(rgb.third);
  const Value value = ops::maximum(ops::maximum(red, green), blue);
  const Value range = value - ops::minimum(ops::minimum(red, green), blue);
  const Value saturation = ops::where(is_positive(value), range / ops::where(is_positive(value), value, one), zero);
  const Value norm = 1 / (ops::where(is_positive(range), range, one) * 6);
  const Value other =
      ops::where(ops::equal(value, green), norm * (blue - red) + 2.0 / 6, norm * (red - green) + 4.0 / 6);
  Value hue = ops::where(ops::equal(value, red), norm * (green - blue), other);
  hue = ops::where(is_positive(range), hue, zero) + ops::cast(ops::less(hue, zero), hue.dtype());
  return {hue, saturation, value};
}

/// Red, green and blue.
Colors hsv_to_rgb(const Colors& hsv) {
  const Value at = image_ops::remainder(hsv.first, 1) * 6;
  const auto channel = [&](Value full) {
    const Value part = ops::clip(full, 0, 1);
    return hsv.third * (1 - hsv.second + hsv.second * part);
  };
  return {channel(ops::absolute(at - 3) - 1), channel(2 - ops::absolute(at - 2)), channel(2 - ops::absolute(at - 4))};
}

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

Value degenerate(const Arguments& given) {
  const Value gray = brightness_of(given.images, given.where);
  return clipped(given.images + given.factor * (gray - given.images), given.value_range);
}

Value decolor(const Arguments& given) { return by_chance(given, brightness_of(given.images, given.where)); }

Value turn_hue(const Arguments& given) {
  Colors hsv = rgb_to_hsv(channels_of(image_ops::scaled(given.images, given.value_range, fractions), given.where));
  const Value zero = ops::scalar(0, hsv.first), one = ops::scalar(1, hsv.first);
  const Value turned = given.factor * 0.5;
  const Value hue = hsv.first + ops::where(ops::less(given.chance, ops::scalar(0.5, turned)), turned, -turned);
  hsv.first = hue - ops::cast(ops::less(one, hue), hue.dtype()) + ops::cast(ops::less(hue, zero), hue.dtype());
  return image_ops::scaled(clipped(images_of(hsv_to_rgb(hsv)), fractions), fractions, given.value_range);
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
  Colors hsv = rgb_to_hsv(channels_of(given.images, given.where));
  hsv.second = clipped(hsv.second * (given.factor / (1 - given.factor + epsilon())), fractions);
  return images_of(hsv_to_rgb(hsv));
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
const Change degeneration{{0, 1}, 0, false, degenerate};
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
