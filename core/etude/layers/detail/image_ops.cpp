#include "etude/layers/detail/image_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "etude/base/error.hpp"
#include "etude/layers/spatial.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::image_ops {
namespace {

std::string text_of(const Doubles& given) {
  std::string text = "[";
  for (const double number : given.all()) {
    if (text.size() > 1) text += ", ";
    append_text(text, number);
  }
  return text + ']';
}

}  // namespace

Range range_of(const char* name, const Doubles& given, Range bounds, double floor, std::string_view where) {
  const std::vector<double>& all = given.all();
  const auto in_bounds = [&](double number) { return number >= bounds.low && number <= bounds.high; };
  check((all.size() == 1 || all.size() == 2) && std::ranges::all_of(all, in_bounds), ErrorKind::value, where, name,
        " = ", text_of(given), " - expected one or two numbers from ", bounds.low, " to ", bounds.high, " - set ", name,
        '.');
  if (all.size() == 2) return {std::min(all[0], all[1]), std::max(all[0], all[1])};
  return {std::max(-std::abs(all[0]), floor), std::abs(all[0])};
}

Range value_range_of(const Doubles& given, std::string_view where) {
  const std::vector<double>& all = given.all();
  check(all.size() == 2 && std::isfinite(all[0]) && std::isfinite(all[1]) && all[0] != all[1], ErrorKind::value, where,
        "value_range = ", text_of(given),
        " - expected the least and the largest value of a pixel - set value_range, such as 0 and 255.");
  return {std::min(all[0], all[1]), std::max(all[0], all[1])};
}

Value transformed(Value x, bool channels_first, std::string_view where, const std::function<Value(Value)>& transform) {
  spatial::check_rank(x.shape(), 2, channels_first, where);
  const Value y = transform(ops::upcast(spatial::channels_last(x, channels_first)));
  return spatial::restore_order(is_half(x.dtype()) ? ops::cast(y, x.dtype()) : y, channels_first);
}

Value arange(std::int64_t count, std::ptrdiff_t axis, Value like) {
  Shape shape{1, 1, 1, 1};
  shape[axis] = count;
  const DType dtype = like.dtype() == DType::float64 ? DType::float64 : DType::float32;
  return ops::reshape(ops::cumsum(ops::ones({count}, dtype), 0, true), shape);
}

Value rounded(Value x) {
  const Value up = ops::floor(x + 0.5);
  const Value odd_tie =
      ops::logical_and(ops::equal(up - x, ops::scalar(0.5, x)), ops::equal(remainder(up, 2), ops::scalar(1, x)));
  return ops::where(odd_tie, up - 1, up);
}

Value remainder(Value a, double n) { return a - ops::floor(a / n) * n; }

Value in_box(Value images, Value rows, Value columns, Value y, Value x) {
  const auto between = [&](std::ptrdiff_t axis, Value share, Value place) {
    const std::int64_t count = images.shape()[axis];
    const Value at = arange(count, axis, images), length = share * static_cast<double>(count);
    const Value first = place * (static_cast<double>(count) - length);
    return ops::logical_and(ops::less_equal(first, at), ops::less(at, first + length));
  };
  return ops::logical_and(between(1, rows, y), between(2, columns, x));
}

Value pixels_at(Value images, Value y, Value x) {
  const Shape& shape = images.shape();
  const auto whole = [](Value number) { return ops::cast(number, DType::int32); };
  const auto times = [](Value number, std::int64_t factor) { return number * static_cast<double>(factor); };
  const Value image = whole(arange(shape[0], 0, y));
  const Value index = times(times(image, shape[1]) + whole(y), shape[2]) + whole(x);
  const Value rows = ops::reshape(images, {shape[0] * shape[1] * shape[2], shape[3]});
  return ops::take(rows, ops::reshape(index, index.shape().without(-1)));
}

Sampling sampling_of(std::string_view fill_mode, std::string_view interpolation, double fill_value,
                     std::string_view where) {
  constexpr std::string_view modes[] = {"constant", "nearest", "reflect", "wrap"};
  const auto* mode = std::ranges::find(modes, fill_mode);
  check(mode != std::end(modes), ErrorKind::value, where, "fill_mode = \"", fill_mode,
        "\" - expected \"constant\", \"nearest\", \"reflect\" or \"wrap\" - choose one.");
  return {static_cast<Sampling::Fill>(mode - modes), interpolation_of(interpolation, where) == Interpolation::nearest,
          fill_value};
}

Value inside(Value at, std::int64_t count, Sampling::Fill fill) {
  const auto n = static_cast<double>(count);
  switch (fill) {
    case Sampling::Fill::wrap: return remainder(at, n);
    case Sampling::Fill::reflect: {
      // A triangular wave of half-wavelength 2 n, of the odd numbers 2 at + 1.
      const Value wave = ops::absolute(remainder(at * 2 + (2 * n + 1), 4 * n) - 2 * n);
      return (wave - 1) * 0.5;
    }
    case Sampling::Fill::mirror:
      if (count > 1) return ops::absolute(remainder(at + (n - 1), 2 * n - 2) - (n - 1));
      break;
    case Sampling::Fill::constant:
    case Sampling::Fill::nearest: break;
  }
  return ops::clip(at, 0, n - 1);
}

namespace {

/// Whether a whole coordinate is one of an image's.
Value is_inside(Value at, std::int64_t count) {
  return ops::logical_and(ops::less_equal(ops::scalar(0, at), at),
                          ops::less(at, ops::scalar(static_cast<double>(count), at)));
}

/// The pixels at any coordinates, which broadcast to [batch, height, width, 1].
Value sampled(Value images, Value at_y, Value at_x, const Sampling& sampling) {
  const std::int64_t height = images.shape()[1], width = images.shape()[2];
  const auto sample = [&](Value row, Value column) {
    const Value found = pixels_at(images, inside(row, height, sampling.fill), inside(column, width, sampling.fill));
    if (sampling.fill != Sampling::Fill::constant) return found;
    return ops::where(ops::logical_and(is_inside(row, height), is_inside(column, width)), found,
                      ops::scalar(sampling.fill_value, found));
  };
  if (sampling.nearest) {
    const auto nearest = [](Value at) { return ops::sign(at) * ops::floor(ops::absolute(at) + 0.5); };
    return sample(nearest(at_y), nearest(at_x));
  }
  const Value top = ops::floor(at_y), left = ops::floor(at_x);
  const auto share = [&](Value number) { return ops::cast(number, images.dtype()); };
  const Value down = share(at_y - top), right = share(at_x - left);
  return (sample(top, left) * (1 - right) + sample(top, left + 1) * right) * (1 - down) +
         (sample(top + 1, left) * (1 - right) + sample(top + 1, left + 1) * right) * down;
}

}  // namespace

Value affine_transform(Value images, const Affine& affine, const Sampling& sampling) {
  if (images.shape().size() == 0) return images;
  const Value y = arange(images.shape()[1], 1, images), x = arange(images.shape()[2], 2, images);
  const Value at_x = affine.a0 * x + affine.a1 * y + affine.a2, at_y = affine.b0 * x + affine.b1 * y + affine.b2;
  return sampled(images, at_y, at_x, sampling);
}

Value perspective_transform(Value images, const Corners& corners, const Sampling& sampling) {
  if (images.shape().size() == 0) return images;
  const std::int64_t height = images.shape()[1], width = images.shape()[2];
  // The pixel (x, y) of the result is that at (a x / d, b y / d) of the image, with d = 1 + c x + e y: the only such
  // function that maps the moved corners to those of the image.
  const auto last = [](std::int64_t count) { return static_cast<double>(std::max<std::int64_t>(count - 1, 1)); };
  const Value c = (corners.y / corners.bottom - 1) / corners.x, e = (corners.x / corners.right - 1) / corners.y;
  const Value y = arange(height, 1, images), x = arange(width, 2, images);
  const Value d = 1 + c * (x / last(width)) + e * (y / last(height));
  const Value divisor = ops::where(ops::less(ops::absolute(d), ops::scalar(1e-6, d)), ops::scalar(1e-6, d), d);
  // Beyond the image all coordinates are alike, so that none is infinite.
  const auto bounded = [](Value at, std::int64_t count) { return ops::clip(at, -2, static_cast<double>(count + 1)); };
  return sampled(images, bounded((e + 1 / corners.bottom) * y / divisor, height),
                 bounded((c + 1 / corners.right) * x / divisor, width), sampling);
}

Value elastic_transform(Value images, Value noise, Value strength, Value sigma, double most, const Sampling& sampling) {
  // The extent of the bell depends on sigma, which is drawn: weights beyond it are zeros.
  const auto radius = static_cast<std::int64_t>(std::floor(6 * most)) / 2;
  const auto blurred = [&](Value x, std::ptrdiff_t axis) {
    const Value at = ops::absolute(arange(2 * radius + 1, axis, images) - static_cast<double>(radius));
    const Value width = ops::maximum(sigma, ops::scalar(1e-6, sigma));
    const Value bell = ops::exp(ops::square(at / width) * -0.5);
    const Value weights =
        ops::where(ops::less_equal(at, ops::floor(ops::floor(sigma * 6) * 0.5)), bell, ops::scalar(0, bell));
    Shape shape{1, 1};
    shape[axis] = 2 * radius + 1;
    return filtered(x, ops::reshape(weights / ops::sum(weights), shape));
  };
  const Value moved = blurred(blurred(noise * sigma, 0), 1) * strength;
  const Value y = arange(images.shape()[1], 1, images), x = arange(images.shape()[2], 2, images);
  return sampled(images, y + ops::slice(moved, 3, 1, 1), x + ops::slice(moved, 3, 0, 1), sampling);
}

Interpolation interpolation_of(std::string_view name, std::string_view where) {
  check(name == "nearest" || name == "bilinear", ErrorKind::value, where, "interpolation = \"", name,
        "\" - expected \"nearest\" or \"bilinear\" - choose one.");
  return name == "nearest" ? Interpolation::nearest : Interpolation::bilinear;
}

namespace {

/// Where the centers of `out` pixels lie among those of `in`, along the third axis of four.
Value centers(std::int64_t in, std::int64_t out, Value like) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  return (arange(out, 2, like) + 0.5) * scale - 0.5;
}

/// The pixel of `in` in which the center of each of `out` lies, along an axis: floor((2 i + 1) in / (2 out)). In
/// float32 a center near an edge may fall into the neighbor; integers correct that.
Value nearest(std::int64_t in, std::int64_t out, std::ptrdiff_t axis, Value like) {
  const auto whole = [](Value number) { return ops::cast(number, DType::int32); };
  const auto times = [](Value number, std::int64_t factor) { return number * static_cast<double>(factor); };
  const Value at = arange(out, axis, like);
  const Value rough = ops::floor((at + 0.5) * (static_cast<double>(in) / static_cast<double>(out)));
  constexpr std::int64_t most_out = 1 << 14, most_in = 1 << 30;  // all numbers below are less than 2^31
  if (out > most_out || in > most_in) return rough;
  const std::int64_t step = in / out;
  const Value i = whole(at), dividend = times(times(i, 2) + 1, in % out) + static_cast<double>(step * out);
  Value quotient = whole(rough) - times(i, step);
  quotient = ops::where(ops::less(dividend, times(quotient, 2 * out)), quotient - 1, quotient);
  quotient = ops::where(ops::less_equal(times(quotient + 1, 2 * out), dividend), quotient + 1, quotient);
  return times(i, step) + quotient;
}

/// The shares [out, in] of pixels in each result: a triangle around its center, or their share of the sum at the edges.
Value shares(std::int64_t in, std::int64_t out, bool antialias, Value like) {
  const double widening = antialias ? std::max(1.0, static_cast<double>(in) / static_cast<double>(out)) : 1;
  const Value distance = ops::absolute(centers(in, out, like) - arange(in, 3, like));
  const Value weights = ops::relu(1 - distance / widening);
  return ops::cast(ops::reshape(weights / ops::sum(weights, {3}, true), {out, in}), like.dtype());
}

}  // namespace

Value resized(Value images, std::int64_t height, std::int64_t width, Interpolation interpolation, bool antialias) {
  const Shape& shape = images.shape();
  const std::int64_t batch = shape[0], rows = shape[1], columns = shape[2], channels = shape[3];
  if (interpolation == Interpolation::nearest)
    return pixels_at(images, nearest(rows, height, 1, images), nearest(columns, width, 2, images));
  Value y = images;
  if (rows != height)
    y = ops::matmul(shares(rows, height, antialias, images), ops::reshape(y, {batch, rows, columns * channels}));
  y = ops::reshape(y, {batch, height, columns, channels});
  return columns == width ? y : ops::matmul(shares(columns, width, antialias, images), y);
}

void check_size(std::int64_t height, std::int64_t width, std::string_view where) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  check(std::min(height, width) > 0 && std::max(height, width) <= most, ErrorKind::value, where, "height = ", height,
        ", width = ", width, " - expected positive numbers of less than 2^31 - set both.");
}

void check_pixels(Value images, std::string_view where) {
  check(images.shape()[1] > 0 && images.shape()[2] > 0, ErrorKind::shape, where, "images of ", images.shape()[1], " x ",
        images.shape()[2], " pixels - expected at least one pixel - check the data.");
}

Value center_of(Value images, std::int64_t height, std::int64_t width) {
  const std::int64_t wanted[] = {height, width};
  for (const std::ptrdiff_t axis : {1, 2}) {
    const std::int64_t there = images.shape()[axis], count = std::min(there, wanted[axis - 1]);
    images = ops::slice(images, axis, (there - count) / 2, count);
  }
  return images;
}

namespace {

/// Of an extent: the one that goes with `other` at the ratio of extent to other_extent, rounded down.
std::int64_t with_ratio(std::int64_t other, std::int64_t extent, std::int64_t other_extent) {
  return static_cast<std::int64_t>(static_cast<double>(other) * static_cast<double>(extent) /
                                   static_cast<double>(other_extent));
}

}  // namespace

Value cropped_to_aspect_ratio(Value images, std::int64_t height, std::int64_t width) {
  const std::int64_t rows = images.shape()[1], columns = images.shape()[2];
  return center_of(images, std::clamp<std::int64_t>(with_ratio(columns, height, width), 1, rows),
                   std::clamp<std::int64_t>(with_ratio(rows, width, height), 1, columns));
}

Value center_of_size(Value images, std::int64_t height, std::int64_t width) {
  if (images.shape()[1] >= height && images.shape()[2] >= width) return center_of(images, height, width);
  return resized(cropped_to_aspect_ratio(images, height, width), height, width, Interpolation::bilinear, false);
}

Value padded_to_aspect_ratio(Value images, std::int64_t height, std::int64_t width, double fill_value) {
  const std::int64_t rows = images.shape()[1], columns = images.shape()[2];
  const std::int64_t above = (std::max(rows, with_ratio(columns, height, width)) - rows) / 2;
  const std::int64_t before = above > 0 ? 0 : (std::max(columns, with_ratio(rows, width, height)) - columns) / 2;
  const std::int64_t margins[] = {above, before};
  for (const std::ptrdiff_t axis : {1, 2}) {
    Shape shape = images.shape();
    shape[axis] = margins[axis - 1];
    if (shape[axis] == 0) continue;
    const Value margin = ops::full(shape, fill_value, images.dtype());
    images = ops::concatenate({margin, images, margin}, axis);
  }
  return images;
}

Value scaled(Value x, Range from, Range to) {
  if (from.low == to.low && from.high == to.high) return x;
  return (x - from.low) / (from.high - from.low) * (to.high - to.low) + to.low;
}

Value filtered(Value images, Value kernel) {
  const std::int64_t height = kernel.shape()[0], width = kernel.shape()[1], channels = images.shape()[3];
  const Value of_each = ops::broadcast_to(ops::reshape(kernel, {height, width, 1, 1}), {height, width, 1, channels});
  const Window window = ops::padded({.extent = {height, width}}, "same", {images.shape()[1], images.shape()[2]});
  return ops::convolution(images, of_each, window);
}

}  // namespace etude::image_ops
