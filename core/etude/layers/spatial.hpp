#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/integers.hpp"
#include "etude/graph/graph.hpp"
#include "etude/graph/window.hpp"

/// Functions of layers over one to three spatial axes. `where` names the layer in errors.
namespace etude::spatial {

/// One number for each spatial axis, in the order depth, height, width; a layer of fewer axes has 1 in front.
using Numbers = std::array<std::int64_t, 3>;

/// The numbers of an option, one for each of `rank` axes; one number is for all. Throws Error(value) for another count,
/// and for numbers that are not in [1, 2^31).
Numbers numbers(const char* name, const Integers& given, std::size_t rank, std::string_view where);
/// Throws Error(value) unless padding is "valid" or "same".
void check_padding(std::string_view padding, std::string_view where);
/// Throws Error(shape) unless `shape` has a batch axis, `rank` spatial axes and channels.
void check_rank(const Shape& shape, std::size_t rank, bool channels_first, std::string_view where);

/// A window of cells over depth, height and width. It computes as Window does.
struct VolumeWindow {
  /// Cells along each axis, inputs between two windows, and inputs between two cells.
  Numbers extent{1, 1, 1}, strides{1, 1, 1}, dilation{1, 1, 1};
  /// Cells of padding.
  Numbers before{}, after{};

  /// The inputs from its first to its last cell.
  std::int64_t span(std::size_t axis) const { return (extent[axis] - 1) * dilation[axis] + 1; }
  /// The outputs along an axis of `in` inputs; 0 if the window does not fit.
  std::int64_t outputs(std::size_t axis, std::int64_t in) const;
  /// Whether the axis stays as it is.
  bool leaves(std::size_t axis) const;
  /// The window over height and width.
  Window plane() const;
  /// The window over the depth, as the height of [batch, depth, .., channels].
  Window depth() const;
};

/// The window with Keras's padding "same" or "valid" (none), or with its own where that is "causal", over
/// x [batch, .., channels] with `rank` spatial axes.
/// Throws Error(shape) if it is larger than x.
VolumeWindow over(VolumeWindow window, std::string_view padding, const Shape& x, std::size_t rank,
                  std::string_view where);

/// x with its channels last.
Value channels_last(Value x, bool channels_first);
/// A result whose channels are last, in the order of the data.
Value restore_order(Value y, bool channels_first);
/// x [batch, .., channels] as [images, height, width, channels]: steps are a width, each depth is an image of its own.
Value to_planes(Value x, std::size_t rank);
/// Planes that were computed from those of x, as [batch, .., channels] again.
Value from_planes(Value planes, std::size_t rank, const Shape& x);

/// x with these extents in place of `axis`, of which they are the product.
Value split_axis(Value x, std::ptrdiff_t axis, std::initializer_list<std::int64_t> extents);
/// x with zeros before and after the entries of an axis.
Value pad(Value x, std::ptrdiff_t axis, std::int64_t before, std::int64_t after);
/// The entries first, first + stride, .. of an axis, `count` of them.
Value strided(Value x, std::ptrdiff_t axis, std::int64_t first, std::int64_t stride, std::int64_t count);
/// The entries of an axis with `stride` - 1 zeros behind each.
Value spread(Value x, std::ptrdiff_t axis, std::int64_t stride);

/// x [batch, .., channels] convolved with a kernel [*extents of the window, channels / groups, filters].
Value convolution(Value x, Value kernel, VolumeWindow window, std::string_view padding, std::size_t rank,
                  std::string_view where);

}  // namespace etude::spatial
