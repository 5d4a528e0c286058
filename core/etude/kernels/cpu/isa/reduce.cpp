#include <limits>

#include "etude/graph/detail/op.hpp"
#include "etude/kernels/cpu/kernels.hpp"
#include "etude/kernels/cpu/simd.hpp"

namespace etude::cpu::ETUDE_ISA {
namespace {

// Works on registers and on single numbers.
struct Plus {
  template <class V> static V apply(const V& a, const V& b) { return a + b; }
  template <class T> static constexpr T start = T(0);
  /// Elements [i, count) of a row, fewer than a register, filled up with zeros.
  template <class T> static Vec<T> last(const T* row, std::int64_t i, std::int64_t count) {
    return load_first(row + i, static_cast<std::ptrdiff_t>(count - i));
  }
};
/// NaN if either is.
struct Larger {
  template <class T> static Vec<T> apply(const Vec<T>& a, const Vec<T>& b) { return op::Maximum::apply(a, b); }
  template <class T>
    requires std::is_arithmetic_v<T>
  static T apply(T a, T b) {
    return a > b || a != a ? a : b;
  }
  template <class T> static constexpr T start = -std::numeric_limits<T>::infinity();
  template <class T> static Vec<T> last(const T* row, std::int64_t i, std::int64_t count) {
    if (count >= lanes<T>) return load(row + count - lanes<T>);
    alignas(64) T filled[lanes<T>];
    for (std::int64_t j = 0; j < lanes<T>; ++j) filled[j] = i + j < count ? row[i + j] : start<T>;
    return Vec<T>::load_aligned(filled);
  }
};

template <class F, class T> void columns(const T* in, std::int64_t count, std::int64_t inner, std::int64_t begin,
                                         std::int64_t end, T* out) {
  constexpr std::int64_t width = lanes<T>;
  std::int64_t column = begin;
  for (; column + 4 * width <= end; column += 4 * width) {
    Vec<T> s0(F::template start<T>), s1 = s0, s2 = s0, s3 = s0;
    for (std::int64_t row = 0; row < count; ++row) {
      const T* x = in + row * inner + column;
      s0 = F::apply(s0, load(x));
      s1 = F::apply(s1, load(x + width));
      s2 = F::apply(s2, load(x + 2 * width));
      s3 = F::apply(s3, load(x + 3 * width));
    }
    store(out + column, s0);
    store(out + column + width, s1);
    store(out + column + 2 * width, s2);
    store(out + column + 3 * width, s3);
  }
  for (; column < end; column += width) {
    const std::ptrdiff_t left =
        static_cast<std::ptrdiff_t>(end - column) < lanes<T> ? static_cast<std::ptrdiff_t>(end - column) : lanes<T>;
    Vec<T> s(F::template start<T>);
    for (std::int64_t row = 0; row < count; ++row) s = F::apply(s, load_first(in + row * inner + column, left));
    store_first(out + column, s, left);
  }
}

/// Four running registers, folded after each 4096 elements, so that errors grow with the blocks and not with the
/// elements.
template <class F, class T> T neighbours(const T* in, std::int64_t count) {
  constexpr std::int64_t width = lanes<T>, block = 4096;
  T result = F::template start<T>;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t end = begin + block < count ? begin + block : count;
    Vec<T> s0(F::template start<T>), s1 = s0, s2 = s0, s3 = s0;
    std::int64_t i = begin;
    for (; i + 4 * width <= end; i += 4 * width) {
      s0 = F::apply(s0, load(in + i));
      s1 = F::apply(s1, load(in + i + width));
      s2 = F::apply(s2, load(in + i + 2 * width));
      s3 = F::apply(s3, load(in + i + 3 * width));
    }
    for (; i + width <= end; i += width) s0 = F::apply(s0, load(in + i));
    alignas(64) T parts[lanes<T>];
    F::apply(F::apply(s0, s1), F::apply(s2, s3)).store_aligned(parts);
    T total = F::template start<T>;
    for (std::int64_t j = 0; j < width; ++j) total = F::apply(total, parts[j]);
    for (; i < end; ++i) total = F::apply(total, in[i]);
    result = F::apply(result, total);
  }
  return result;
}

/// A register of partial results of one row: lane i takes every element ≡ i (mod lanes).
template <class F, class T> [[gnu::always_inline]] inline Vec<T> partial(const T* in, std::int64_t count) {
  constexpr std::int64_t width = lanes<T>;
  Vec<T> s0(F::template start<T>), s1 = s0;
  std::int64_t i = 0;
  for (; i + 2 * width <= count; i += 2 * width) {
    s0 = F::apply(s0, load(in + i));
    s1 = F::apply(s1, load(in + i + width));
  }
  if (i + width <= count) {
    s0 = F::apply(s0, load(in + i));
    i += width;
  }
  if (i < count) s1 = F::apply(s1, F::last(in, i, count));
  return F::apply(s0, s1);
}

/// Reduces as many rows at a time as a register has lanes: transposes their partial results and combines the lanes.
template <class F, class T> void rows(const T* in, std::int64_t rows, std::int64_t count, T* out) {
  constexpr std::int64_t width = lanes<T>;
  for (std::int64_t row = 0; row < rows; row += width) {
    const std::int64_t live = rows - row < width ? rows - row : width;
    Vec<T> square[lanes<T>];
    for (std::int64_t i = 0; i < width; ++i)
      square[i] = i < live ? partial<F>(in + (row + i) * count, count) : Vec<T>(F::template start<T>);
    transpose<T>(square);
    for (std::int64_t half = width / 2; half > 0; half /= 2)
      for (std::int64_t i = 0; i < half; ++i) square[i] = F::apply(square[i], square[i + half]);
    if (live == width)
      store(out + row, square[0]);
    else
      store_first(out + row, square[0], static_cast<std::ptrdiff_t>(live));
  }
}

/// Repeats each number along a row; the last register of a row may overlap the one before.
template <class T> void spread(const T* in, std::int64_t rows, std::int64_t count, T* out) {
  constexpr std::int64_t width = lanes<T>;
  for (std::int64_t row = 0; row < rows; ++row, out += count) {
    const Vec<T> value = broadcast(in[row]);
    std::int64_t i = 0;
    for (; i + width <= count; i += width) store(out + i, value);
    if (i == count) continue;
    if (count >= width)
      store(out + count - width, value);
    else
      for (; i < count; ++i) out[i] = in[row];
  }
}

}  // namespace

template <class T> void fill_reductions(FloatKernels<T>& kernels) {
  kernels.sum_columns = &columns<Plus, T>;
  kernels.max_columns = &columns<Larger, T>;
  kernels.sum = &neighbours<Plus, T>;
  kernels.max = &neighbours<Larger, T>;
  kernels.spread = &spread<T>;
  kernels.sum_rows = &rows<Plus, T>;
  kernels.max_rows = &rows<Larger, T>;
}

template void fill_reductions(FloatKernels<float>&);
#ifdef ETUDE_FLOAT64
template void fill_reductions(FloatKernels<double>&);
#endif

}  // namespace etude::cpu::ETUDE_ISA
