#pragma once

#include <type_traits>

#include "cuda/divisor.hpp"
#include "cuda/launch.hpp"

// The patches of a convolution's window, as a matrix: read in place, or laid out in memory.

namespace etude::cuda {

/// A convolution's sizes, for kernels.
struct ConvolutionSizes {
  int height, width, channels, rows, columns, filters;
  int kernel_height, kernel_width, group_channels, group_filters;
  int stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;
  Divisor by_width, by_cells, by_columns, by_places;  ///< of x and of y
  Divisor by_kernel_width, by_group_channels, by_group_filters, by_stride_y, by_stride_x;

  explicit ConvolutionSizes(const instruction::ConvolutionShape& s)
      : height(narrow(s.height)),
        width(narrow(s.width)),
        channels(narrow(s.channels)),
        rows(narrow(s.rows)),
        columns(narrow(s.columns)),
        filters(narrow(s.filters)),
        kernel_height(narrow(s.window.extent[0])),
        kernel_width(narrow(s.window.extent[1])),
        group_channels(narrow(s.channels / s.groups)),
        group_filters(narrow(s.filters / s.groups)),
        stride_y(narrow(s.window.strides[0])),
        stride_x(narrow(s.window.strides[1])),
        dilation_y(narrow(s.window.dilation[0])),
        dilation_x(narrow(s.window.dilation[1])),
        before_y(narrow(s.window.before[0])),
        before_x(narrow(s.window.before[1])),
        by_width(s.width),
        by_cells(s.height * s.width),
        by_columns(s.columns),
        by_places(s.rows * s.columns),
        by_kernel_width(kernel_width),
        by_group_channels(group_channels),
        by_group_filters(group_filters),
        by_stride_y(stride_y),
        by_stride_x(stride_x) {}
};

/// A place of the window in y, or a cell of x, from its number.
struct ImagePlace {
  std::int64_t image;
  int row, column;

  ETUDE_DEVICE ImagePlace(std::int64_t number, const Divisor& of_image, const Divisor& of_row) : image(number) {
    row = static_cast<int>(of_image.divide(image));
    column = of_row.divide(row);
  }
};

/// A tap of the kernel, and a channel or filter of the group.
struct Tap {
  int row, column, entry;

  ETUDE_DEVICE Tap(std::int64_t number, const Divisor& entries, const Divisor& kernel_width)
      : row(static_cast<int>(number)) {
    entry = entries.divide(row);
    column = kernel_width.divide(row);
  }
};

/// The elements of patches: the address of x at (place of the window, tap of the kernel and channel), null in the
/// padding.
template <class T>
struct Patches {
  const T* x;
  ConvolutionSizes s;

  ETUDE_DEVICE const T* of_batch(std::int64_t group) const { return x + group * s.group_channels; }
  ETUDE_DEVICE const T* find(const T* first, std::int64_t number, std::int64_t tap_channel) const {
    const ImagePlace place(number, s.by_places, s.by_columns);
    const Tap tap(tap_channel, s.by_group_channels, s.by_kernel_width);
    const int y = place.row * s.stride_y - s.before_y + tap.row * s.dilation_y;
    const int across = place.column * s.stride_x - s.before_x + tap.column * s.dilation_x;
    if (y < 0 || y >= s.height || across < 0 || across >= s.width) return nullptr;
    return first + ((place.image * s.height + y) * s.width + across) * s.channels + tap.entry;
  }
  ETUDE_DEVICE T seen(const T* first, std::int64_t place, std::int64_t tap_channel) const {
    const T* from = find(first, place, tap_channel);
    return from ? *from : T{};
  }
};
/// A row for each place, a column for each tap and channel.
template <class T>
struct PatchRows : Patches<T> {
  ETUDE_DEVICE bool rows_contiguous() const { return true; }
  ETUDE_DEVICE T at(const T* first, std::int64_t i, std::int64_t j) const { return this->seen(first, i, j); }
};
template <class T>
struct PatchColumns : Patches<T> {
  static constexpr bool is_far = true;  ///< The address of an element takes many registers.
  ETUDE_DEVICE bool rows_contiguous() const { return false; }
  ETUDE_DEVICE T at(const T* first, std::int64_t i, std::int64_t j) const { return this->seen(first, j, i); }
};

/// The window that contains a cell of x at a tap of the kernel, if there is one.
struct SeeingWindow {
  int row, column;
  bool exists;

  ETUDE_DEVICE SeeingWindow(const ConvolutionSizes& s, int cell_row, int cell_column, int tap_row, int tap_column)
      : row(cell_row + s.before_y - tap_row * s.dilation_y),
        column(cell_column + s.before_x - tap_column * s.dilation_x),
        exists(row >= 0 && column >= 0) {
    if (!exists) return;
    const int rest_y = s.by_stride_y.divide(row), rest_x = s.by_stride_x.divide(column);
    exists = rest_y == 0 && rest_x == 0 && row < s.rows && column < s.columns;
  }
};

/// The windows that contain a cell of x: dy at (cell, tap and filter), 0 if no window has the cell at that tap.
template <class T>
struct SeenBy {
  const T* dy;
  ConvolutionSizes s;

  ETUDE_DEVICE bool rows_contiguous() const { return true; }
  ETUDE_DEVICE const T* of_batch(std::int64_t group) const { return dy + group * s.group_filters; }
  ETUDE_DEVICE const T* find(const T* first, std::int64_t number, std::int64_t tap_filter) const {
    const ImagePlace cell(number, s.by_cells, s.by_width);
    const Tap tap(tap_filter, s.by_group_filters, s.by_kernel_width);
    const SeeingWindow window(s, cell.row, cell.column, tap.row, tap.column);
    if (!window.exists) return nullptr;
    return first + ((cell.image * s.rows + window.row) * s.columns + window.column) * s.filters + tap.entry;
  }
  ETUDE_DEVICE T at(const T* first, std::int64_t cell, std::int64_t tap_filter) const {
    const T* from = find(first, cell, tap_filter);
    return from ? *from : T{};
  }
};

/// The kernel as a matrix with a row for each tap and filter, and a column for each channel of the group.
template <class T>
struct TurnedKernel {
  const T* kernel;
  ConvolutionSizes s;

  ETUDE_DEVICE bool rows_contiguous() const { return false; }
  ETUDE_DEVICE const T* of_batch(std::int64_t group) const { return kernel + group * s.group_filters; }
  ETUDE_DEVICE T at(const T* first, std::int64_t tap_filter, std::int64_t channel) const {
    int tap = static_cast<int>(tap_filter);
    const int filter = s.by_group_filters.divide(tap);
    return first[(std::int64_t{tap} * s.group_channels + channel) * s.filters + filter];
  }
};

/// Neighbours that are read and written together.
template <class T, int count> struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) Several {
  T of[count];
};
template <class T> using Four = Several<T, 4>;
template <class T> bool lies_for_fours(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(Four<T>) == 0;
}

/// Writes some rows of a matrix that is gathered, `each` neighbours of a row at once.
template <class T, class Matrix, int each>
struct LayOut {
  static constexpr const char* name = "lay out a matrix";
  Matrix matrix;
  std::int64_t first;  ///< row
  Divisor columns;     ///< divided by `each`
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t row = i;
    const std::int64_t column = columns.divide(row) * each;
    const T* from = matrix.find(matrix.of_batch(0), first + row, column);
    auto* to = reinterpret_cast<Several<T, each>*>(out) + i;
    *to = from ? *reinterpret_cast<const Several<T, each>*>(from) : Several<T, each>{};
  }
};

/// Enqueues it. `entries` neighbours in a row are neighbours in `data`, from which the matrix is gathered.
template <class T, class Matrix>
void lay_out(Runtime& runtime, const Matrix& matrix, const T* data, std::int64_t entries, std::int64_t first,
             std::int64_t rows, std::int64_t columns, T* out) {
  if (entries % 4 == 0 && lies_for_fours(data) && lies_for_fours(out))
    launch_each(runtime, rows * columns / 4, LayOut<T, Matrix, 4>{matrix, first, columns / 4, out});
  else
    launch_each(runtime, rows * columns, LayOut<T, Matrix, 1>{matrix, first, columns, out});
}

}  // namespace etude::cuda
