#pragma once

#include <array>
#include <cstdint>

namespace etude {

/// A window of cells that slides over the two middle axes of [batch, height, width, channels]; arrays are [height,
/// width]. Output o of an axis reads the inputs o · stride - before + i · dilation, i < extent.
struct Window {
  /// Cells along each axis, inputs between two windows, and inputs between two cells.
  std::array<std::int64_t, 2> extent{1, 1}, strides{1, 1}, dilation{1, 1};
  std::array<std::int64_t, 2> before{0, 0}, after{0, 0};  ///< cells of padding

  /// The number of cells.
  std::int64_t cells() const { return extent[0] * extent[1]; }
  /// The inputs from its first to its last cell.
  std::int64_t span(std::size_t axis) const { return (extent[axis] - 1) * dilation[axis] + 1; }
  /// The outputs along an axis of `in` inputs; 0 if the window does not fit.
  std::int64_t outputs(std::size_t axis, std::int64_t in) const {
    const std::int64_t room = in + before[axis] + after[axis] - span(axis);
    return room < 0 ? 0 : room / strides[axis] + 1;
  }
  /// Whether there is padding.
  bool padded() const { return before[0] || before[1] || after[0] || after[1]; }
  friend bool operator==(const Window&, const Window&) = default;
};

}  // namespace etude
