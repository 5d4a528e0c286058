#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "etude/base/doubles.hpp"
#include "etude/graph/graph.hpp"

/// Functions of images [batch, height, width, channels] within a trace, for the layers that preprocess them. `where`
/// names the layer in errors.
namespace etude::image_ops {

/// Both ends of an interval.
struct Range {
  double low, high;
};
/// The range of shares and probabilities, and that of pixels of one byte.
inline constexpr Range fractions{0, 1}, bytes{0, 255};

/// The two numbers of an option, in order, within `bounds`; one number f is for [max(-|f|, floor), |f|]. Throws
/// Error(value) for others.
Range range_of(const char* name, const Doubles& given, Range bounds, double floor, std::string_view where);
/// The two numbers of a value_range, in order. Throws Error(value) unless they are two finite numbers that differ.
Range value_range_of(const Doubles& given, std::string_view where);

/// The result of a function of images [batch, height, width, channels] in float32 or more, for x that may have its
/// channels first, and be of half precision. Throws Error(shape) for inputs of other ranks.
Value transformed(Value x, bool channels_first, std::string_view where, const std::function<Value(Value)>& transform);

/// 0, 1, .. along `axis` of four, in the float type of `like`.
Value arange(std::int64_t count, std::ptrdiff_t axis, Value like);
/// The nearest integer; of two, the even one.
Value rounded(Value x);
/// a modulo n, from 0 to n.
Value remainder(Value a, double n);
/// Whether a pixel is in a box: bool [batch, height, width, 1]. `rows` and `columns` are its shares of the height and
/// the width, `y` and `x` its places among all possible ones, from 0 to 1: all [batch, 1, 1, 1].
Value in_box(Value images, Value rows, Value columns, Value y, Value x);
/// The pixels at whole coordinates y and x, floats that broadcast to [batch, rows, columns, 1]: [batch, rows, columns,
/// channels].
Value pixels_at(Value images, Value y, Value x);

/// How a transform reads between pixels and beyond the edges.
struct Sampling {
  /// The values beyond the edges: fill_value; the pixels of the edge; the image reflected; the image repeated; the
  /// image reflected without repeating the pixels of the edge.
  enum class Fill : std::uint8_t { constant, nearest, reflect, wrap, mirror };
  Fill fill;
  /// Whether each result is the nearest pixel. Otherwise four pixels are interpolated.
  bool nearest;
  double fill_value;
};
/// A whole coordinate, moved into [0, count).
Value inside(Value at, std::int64_t count, Sampling::Fill fill);
/// Throws Error(value) for unknown names; "mirror" is one of them.
Sampling sampling_of(std::string_view fill_mode, std::string_view interpolation, double fill_value,
                     std::string_view where);

/// The pixel (x, y) of the result is that at (a0 x + a1 y + a2, b0 x + b1 y + b2) of the image. Each is [batch, 1, 1,
/// 1].
struct Affine {
  Value a0, a1, a2, b0, b1, b2;
};
/// Source: affine_transform in keras/src/backend/jax/image.py.
Value affine_transform(Value images, const Affine& affine, const Sampling& sampling);
/// The corners of images, moved along the edges, or inside the image: the upper right one is at the share `right` of
/// the width, the lower left one at the share `bottom` of the height, and the lower right one at the shares x and y of
/// both. The upper left one stays. Each is [batch, 1, 1, 1], and positive.
struct Corners {
  Value right, bottom, x, y;
};
/// Images whose corners are moved, in perspective. Source: perspective_transform in keras/src/backend/jax/image.py.
Value perspective_transform(Value images, const Corners& corners, const Sampling& sampling);

/// Images whose pixels are moved by `strength` times the noise, along x and y in its two channels, which is blurred by
/// a bell of the standard deviation sigma: noise [batch, height, width, 2], both others scalars. The bell ends at three
/// standard deviations; `most` is the greatest sigma. Source: elastic_transform in keras/src/backend/jax/image.py.
Value elastic_transform(Value images, Value noise, Value strength, Value sigma, double most, const Sampling& sampling);

/// The interpolation of resized images.
enum class Interpolation : std::uint8_t { nearest, bilinear };
/// Throws Error(value) for another name.
Interpolation interpolation_of(std::string_view name, std::string_view where);
/// Images of another size. With antialias, smaller images are averages of all pixels. Source: jax.image.resize.
Value resized(Value images, std::int64_t height, std::int64_t width, Interpolation interpolation, bool antialias);
/// Throws Error(value) unless height and width are positive, and less than 2^31.
void check_size(std::int64_t height, std::int64_t width, std::string_view where);
/// Throws Error(shape) for images without pixels.
void check_pixels(Value images, std::string_view where);
/// The central window of at most height x width pixels.
Value center_of(Value images, std::int64_t height, std::int64_t width);
/// The largest central window with the aspect ratio of height to width.
Value cropped_to_aspect_ratio(Value images, std::int64_t height, std::int64_t width);
/// The central window of height x width pixels. Smaller images are cut to that aspect ratio, and enlarged.
Value center_of_size(Value images, std::int64_t height, std::int64_t width);
/// The images, with margins of `fill_value` that give them that aspect ratio.
Value padded_to_aspect_ratio(Value images, std::int64_t height, std::int64_t width, double fill_value);

/// Numbers of one range, scaled to another.
Value scaled(Value x, Range from, Range to);
/// Each channel convolved with kernel [height, width], which reads zeros beyond the edges.
Value filtered(Value images, Value kernel);

}  // namespace etude::image_ops
