#include <limits>

#include "cuda/cuda.hpp"
#include "cuda/divisor.hpp"
#include "cuda/launch.hpp"

namespace etude {

using cuda::at;
using cuda::Divisor;
using cuda::launch_each;
using cuda::narrow;
using instruction::Pooling;

namespace {

struct Sizes {
  int height, width, channels, rows, columns;
  int pool_height, pool_width, stride_y, stride_x, before_y, before_x;
  Divisor by_height, by_width, by_channels, by_rows, by_columns, by_pool_width, by_stride_y, by_stride_x;

  explicit Sizes(const Pooling& p)
      : height(narrow(p.height)),
        width(narrow(p.width)),
        channels(narrow(p.channels)),
        rows(narrow(p.rows)),
        columns(narrow(p.columns)),
        pool_height(narrow(p.window.extent[0])),
        pool_width(narrow(p.window.extent[1])),
        stride_y(narrow(p.window.strides[0])),
        stride_x(narrow(p.window.strides[1])),
        before_y(narrow(p.window.before[0])),
        before_x(narrow(p.window.before[1])),
        by_height(height),
        by_width(width),
        by_channels(channels),
        by_rows(rows),
        by_columns(columns),
        by_pool_width(pool_width),
        by_stride_y(stride_y),
        by_stride_x(stride_x) {}
};

/// An element of a tensor [batch, rows, columns, channels].
struct Place {
  std::int64_t image;
  int row, column, channel;

  ETUDE_DEVICE Place(std::int64_t i, const Divisor& rows, const Divisor& columns, const Divisor& channels) {
    channel = static_cast<int>(channels.divide(i));
    column = static_cast<int>(columns.divide(i));
    row = static_cast<int>(rows.divide(i));
    image = i;
  }
};

/// Cells outside are never the maximum. The first of equals is the maximum, and NaN is larger than any number.
template <class T, class I>
struct MaxPoolKernel {
  static constexpr const char* name = "max pool";
  Sizes s;
  const T* in;
  T* out;
  I* index;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    const Place place(i, s.by_rows, s.by_columns, s.by_channels);
    T largest = -std::numeric_limits<T>::infinity();
    int which = -1;
    for (int u = 0; u < s.pool_height; ++u)
      for (int v = 0; v < s.pool_width; ++v) {
        const int y = place.row * s.stride_y - s.before_y + u, x = place.column * s.stride_x - s.before_x + v;
        if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
        const T value = in[((place.image * s.height + y) * s.width + x) * s.channels + place.channel];
        if (which < 0 || value > largest || (value != value && largest == largest)) {
          largest = value;
          which = u * s.pool_width + v;
        }
      }
    if (out) out[i] = largest;
    if (index) index[i] = static_cast<I>(which);
  }
};

template <class T, class I>
struct PoolGatherKernel {
  static constexpr const char* name = "pool gather";
  Sizes s;
  const T* in;
  const I* index;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    const Place place(i, s.by_rows, s.by_columns, s.by_channels);
    const int named = static_cast<int>(index[i]);
    const bool in_window = named >= 0 && named < s.pool_height * s.pool_width;
    int down = in_window ? named : 0;
    const int across = s.by_pool_width.divide(down);
    const int y = place.row * s.stride_y - s.before_y + down, x = place.column * s.stride_x - s.before_x + across;
    const bool cell = in_window && y >= 0 && y < s.height && x >= 0 && x < s.width;
    out[i] = cell ? in[((place.image * s.height + y) * s.width + x) * s.channels + place.channel] : T(0);
  }
};

/// A thread for each cell, which visits the windows that contain it, in order.
template <class T, class I>
struct PoolScatterKernel {
  static constexpr const char* name = "pool scatter";
  Sizes s;
  const T* in;
  const I* index;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    const Place cell(i, s.by_height, s.by_width, s.by_channels);
    const int y = cell.row + s.before_y, x = cell.column + s.before_x;
    const int first_row = y < s.pool_height ? 0 : s.by_stride_y.quotient(y - s.pool_height) + 1,
              first_column = x < s.pool_width ? 0 : s.by_stride_x.quotient(x - s.pool_width) + 1;
    T sum = 0;
    for (int row = first_row; row < s.rows && row * s.stride_y <= y; ++row)
      for (int column = first_column; column < s.columns && column * s.stride_x <= x; ++column) {
        const std::int64_t o = ((cell.image * s.rows + row) * s.columns + column) * s.channels + cell.channel;
        const int name_here = (y - row * s.stride_y) * s.pool_width + x - column * s.stride_x;
        if (static_cast<int>(index[o]) == name_here) sum += in[o];
      }
    out[i] = sum;
  }
};

/// Calls body with a value of the elements' type and one of the index's.
template <class Body> void with_types(const Operand& in, const Operand& index, Body body) {
  cuda::with_float(in.dtype, [&]<class T>(T element) {
    if (index.dtype == DType::int32) return body(element, std::int32_t{});
    body(element, std::uint8_t{});
  });
}

std::int64_t pooled_elements(const Pooling& p) { return p.batch * p.rows * p.columns * p.channels; }

}  // namespace

void Cuda::compute(const instruction::MaxPool& p, Addresses addresses) {
  with_types(p.in, p.index, [&]<class T, class I>(T, I) {
    launch_each(*runtime_, pooled_elements(p.pooling),
                MaxPoolKernel<T, I>{Sizes(p.pooling), at<const T>(addresses, p.in), at<T>(addresses, p.out),
                                    at<I>(addresses, p.index)});
  });
}

void Cuda::compute(const instruction::PoolGather& p, Addresses addresses) {
  with_types(p.in, p.index, [&]<class T, class I>(T, I) {
    launch_each(*runtime_, pooled_elements(p.pooling),
                PoolGatherKernel<T, I>{Sizes(p.pooling), at<const T>(addresses, p.in), at<const I>(addresses, p.index),
                                       at<T>(addresses, p.out)});
  });
}

void Cuda::compute(const instruction::PoolScatter& p, Addresses addresses) {
  with_types(p.in, p.index, [&]<class T, class I>(T, I) {
    launch_each(*runtime_, p.pooling.batch * p.pooling.height * p.pooling.width * p.pooling.channels,
                PoolScatterKernel<T, I>{Sizes(p.pooling), at<const T>(addresses, p.in), at<const I>(addresses, p.index),
                                        at<T>(addresses, p.out)});
  });
}

}  // namespace etude
