#include "etude/data/detail/resize_image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "etude/base/error.hpp"

namespace etude::images {
namespace {

/// Pixels of one axis that are resized: `count` from `first` on, which may lie outside of the image.
struct Window {
  std::int64_t first, count;
};

/// The extent that goes with `other` at the ratio of extent to other_extent, rounded down.
std::int64_t with_ratio(std::int64_t other, std::int64_t extent, std::int64_t other_extent) {
  return static_cast<std::int64_t>(static_cast<double>(other) * static_cast<double>(extent) /
                                   static_cast<double>(other_extent));
}

/// As cropped_to_aspect_ratio and padded_to_aspect_ratio in core/etude/layers/detail/image_ops.cpp.
std::array<Window, 2> windows_of(std::int64_t rows, std::int64_t columns, const Resize& to) {
  const std::int64_t fitting_rows = with_ratio(columns, to.height, to.width);
  const std::int64_t fitting_columns = with_ratio(rows, to.width, to.height);
  if (to.fit == Fit::crop) {
    const std::int64_t height = std::clamp<std::int64_t>(fitting_rows, 1, rows);
    const std::int64_t width = std::clamp<std::int64_t>(fitting_columns, 1, columns);
    return {{{(rows - height) / 2, height}, {(columns - width) / 2, width}}};
  }
  if (to.fit == Fit::stretch) return {{{0, rows}, {0, columns}}};
  const std::int64_t above = (std::max(rows, fitting_rows) - rows) / 2;
  const std::int64_t before = above > 0 ? 0 : (std::max(columns, fitting_columns) - columns) / 2;
  return {{{-above, rows + 2 * above}, {-before, columns + 2 * before}}};
}

/// A pixel of the result lies between two of the image: a + share (b - a).
struct Between {
  std::int64_t a, b;
  float share;
};

std::vector<Between> places(const Window& window, std::int64_t out, bool nearest) {
  const double scale = static_cast<double>(window.count) / static_cast<double>(out);
  const std::int64_t last = window.count - 1;
  std::vector<Between> result;
  for (std::int64_t i = 0; i < out; ++i) {
    const double at = (static_cast<double>(i) + 0.5) * scale - 0.5;
    const auto below = nearest ? (2 * i + 1) * window.count / (2 * out) : static_cast<std::int64_t>(std::floor(at));
    const float share = nearest ? 0 : static_cast<float>(at - std::floor(at));
    result.push_back({window.first + std::clamp<std::int64_t>(below, 0, last),
                      window.first + std::clamp<std::int64_t>(below + 1, 0, last), share});
  }
  return result;
}

}  // namespace

Resize resize_of(const Integers& given, const char* name, std::string_view interpolation, Fit fit,
                 std::string_view where) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto fits = [](std::int64_t extent) { return extent > 0 && extent <= most; };
  const std::vector<std::int64_t>& size = given.all();
  check((size.size() == 1 || size.size() == 2) && std::ranges::all_of(size, fits), ErrorKind::value, where, name, " = ",
        given, " - expected a height and a width, positive numbers of less than 2^31 - set ", name, '.');
  check(interpolation == "nearest" || interpolation == "bilinear", ErrorKind::value, where, "interpolation = \"",
        interpolation, "\" - expected \"nearest\" or \"bilinear\" - choose one.");
  return {.height = size.front(), .width = size.back(), .nearest = interpolation == "nearest", .fit = fit};
}

Tensor resized(const Tensor& image, const Resize& to) {
  const std::int64_t rows = image.shape()[0], columns = image.shape()[1], channels = image.shape()[2];
  const auto windows = windows_of(rows, columns, to);
  const std::vector<Between> down = places(windows[0], to.height, to.nearest),
                             right = places(windows[1], to.width, to.nearest);
  Tensor result = Tensor::uninitialized(
      to.channels_first ? Shape{channels, to.height, to.width} : Shape{to.height, to.width, channels}, DType::float32);
  const std::int64_t pixel_step = to.channels_first ? 1 : channels;
  const std::int64_t channel_step = to.channels_first ? to.height * to.width : 1;
  const std::uint8_t* pixels = image.data<std::uint8_t>().data();
  constexpr std::uint8_t margin[4] = {};
  const auto pixel = [&](std::int64_t row, std::int64_t column) {
    const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
    return inside ? pixels + (row * columns + column) * channels : margin;
  };
  float* out = result.data<float>().data();
  for (const Between& y : down)
    for (const Between& x : right) {
      const std::uint8_t *a = pixel(y.a, x.a), *b = pixel(y.a, x.b), *c = pixel(y.b, x.a), *d = pixel(y.b, x.b);
      for (std::int64_t i = 0; i < channels; ++i) {
        const auto above = static_cast<float>(a[i]) + x.share * static_cast<float>(b[i] - a[i]);
        const auto below = static_cast<float>(c[i]) + x.share * static_cast<float>(d[i] - c[i]);
        out[i * channel_step] = above + y.share * (below - above);
      }
      out += pixel_step;
    }
  return result;
}

}  // namespace etude::images
