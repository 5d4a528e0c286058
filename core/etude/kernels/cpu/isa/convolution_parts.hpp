#pragma once

#include "etude/kernels/cpu/convolution_kernels.hpp"
#include "etude/kernels/cpu/isa/fan_out.hpp"

// Code shared by a convolution and its transposes: the padded image, rows of elements, and the division among workers.

namespace etude::cpu::ETUDE_ISA {

/// The most parts that work at the same time.
inline constexpr Index max_parts = 64;

/// The least multiplications for which a part pays.
inline constexpr Index multiplications_each = 64 * 64 * 16;

/// `multiplications` may be more than an Index holds where that has 32 bits.
inline Index parts_of(Index units, std::int64_t multiplications, Index workers) {
  const Index most = smaller(smaller(workers, units), max_parts);
  const std::int64_t worth = multiplications / multiplications_each;
  return worth >= most ? larger(most, 1) : larger(static_cast<Index>(worth), 1);
}

template <class T> inline void copy_elements(const T* from, Index count, T* to) {
  Index i = 0;
  for (; i + lanes<T> <= count; i += lanes<T>) store(to + i, load(from + i));
  if (i < count) store_first(to + i, load_first(from + i, count - i), count - i);
}
template <class T> inline void zero_elements(T* to, Index count) {
  Index i = 0;
  for (; i + lanes<T> <= count; i += lanes<T>) store(to + i, broadcast(T(0)));
  for (; i < count; ++i) to[i] = T(0);
}
/// to[i] += from[i].
template <class T> inline void add_elements(const T* from, Index count, T* to) {
  Index i = 0;
  for (; i + lanes<T> <= count; i += lanes<T>) store(to + i, load(to + i) + load(from + i));
  if (i < count) store_first(to + i, load_first(to + i, count - i) + load_first(from + i, count - i), count - i);
}

/// An image of x with the zero padding that the windows read.
template <class T> struct PaddedImage {
  Index height, width, channels;  // padded
  Index from_height, from_width, before_y, before_x;
  bool needed;

  explicit PaddedImage(const ConvolutionArguments<T>& g)
      : height((g.rows - 1) * g.stride_y + (g.kernel_height - 1) * g.dilation_y + 1),
        width((g.columns - 1) * g.stride_x + (g.kernel_width - 1) * g.dilation_x + 1),
        channels(g.channels),
        from_height(g.height),
        from_width(g.width),
        before_y(g.before_y),
        before_x(g.before_x) {
    needed = before_y > 0 || before_x > 0 || height > from_height || width > from_width;
    if (!needed) height = from_height, width = from_width;
  }

  Index elements() const { return needed ? height * width * channels : 0; }

  void copy(const T* image, T* to) const {
    const Index left = smaller(before_x, width), inside = larger(smaller(from_width, width - left), 0);
    for (Index y = 0; y < height; ++y, to += width * channels) {
      const Index from = y - before_y;
      if (from < 0 || from >= from_height) {
        zero_elements(to, width * channels);
        continue;
      }
      zero_elements(to, left * channels);
      copy_elements(image + from * from_width * channels, inside * channels, to + left * channels);
      zero_elements(to + (left + inside) * channels, (width - left - inside) * channels);
    }
  }
};

}  // namespace etude::cpu::ETUDE_ISA
