#include <limits>

#include "etude/kernels/cpu/isa/special.hpp"
#include "etude/kernels/cpu/isa/transpose.hpp"
#include "etude/kernels/cpu/kernels.hpp"

namespace etude::cpu::ETUDE_ISA {
namespace {

/// Calls visit(register, offset, live elements) along a row of `count`; the last register is padded with `rest`.
template <class T, class Visitor> [[gnu::always_inline]] inline void along(const T* row, std::int64_t count, T rest,
                                                                           Visitor visit) {
  constexpr std::int64_t width = lanes<T>;
  std::int64_t i = 0;
  for (; i + width <= count; i += width) visit(load(row + i), i, lanes<T>);
  if (i == count) return;
  alignas(64) T last[width];
  for (std::int64_t j = 0; j < width; ++j) last[j] = i + j < count ? row[i + j] : rest;
  visit(load(last), i, static_cast<std::ptrdiff_t>(count - i));
}

template <class T> T largest(const T* row, std::int64_t count) {
  Vec<T> high(-std::numeric_limits<T>::infinity());
  along(row, count, -std::numeric_limits<T>::infinity(),
        [&](Vec<T> x, std::int64_t, std::ptrdiff_t) { high = xsimd::max(high, x); });
  return xsimd::reduce_max(high);
}

/// The sum of exp(x - high) along a row.
template <class T> T sum_of_exp(const T* row, std::int64_t count, T high) {
  Vec<T> total(T(0));
  along(row, count, -std::numeric_limits<T>::infinity(),
        [&](Vec<T> x, std::int64_t, std::ptrdiff_t) { total += exponential(x - Vec<T>(high)); });
  return xsimd::reduce_add(total);
}

/// log of a positive number, by the vector code used everywhere.
template <class T> T log_of(T x) { return xsimd::log(Vec<T>(x)).get(0); }

template <class T> void softmax(const T* in, std::int64_t rows, std::int64_t count, T* out) {
  for (std::int64_t row = 0; row < rows; ++row, in += count, out += count) {
    const T high = largest(in, count);
    Vec<T> total(T(0));
    along(in, count, -std::numeric_limits<T>::infinity(), [&](Vec<T> x, std::int64_t i, std::ptrdiff_t live) {
      const Vec<T> e = exponential(x - Vec<T>(high));
      total += e;
      if (live == lanes<T>)
        store(out + i, e);
      else
        store_first(out + i, e, live);
    });
    const T scale = T(1) / xsimd::reduce_add(total);
    along(out, count, T(0), [&](Vec<T> e, std::int64_t i, std::ptrdiff_t live) {
      if (live == lanes<T>)
        store(out + i, e * Vec<T>(scale));
      else
        store_first(out + i, e * Vec<T>(scale), live);
    });
  }
}

template <class T> void crossentropy(const T* logits, const T* targets, std::int64_t rows, std::int64_t count,
                                     T* losses) {
  for (std::int64_t row = 0; row < rows; ++row, logits += count, targets += count) {
    const T high = largest(logits, count);
    const T normaliser = high + log_of(sum_of_exp(logits, count, high));
    T loss = 0;
    for (std::int64_t i = 0; i < count; ++i)
      if (targets[i] != T(0)) loss += targets[i] * (normaliser - logits[i]);
    losses[row] = loss;
  }
}

template <class T>
void sparse_crossentropy(const T* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t count,
                         T* losses) {
  for (std::int64_t row = 0; row < rows; ++row, logits += count) {
    const std::int32_t label = labels[row];
    const T high = largest(logits, count);
    const T normaliser = high + log_of(sum_of_exp(logits, count, high));
    losses[row] = label >= 0 && label < count ? normaliser - logits[label] : std::numeric_limits<T>::quiet_NaN();
  }
}

}  // namespace

template <class T> void fill_rows(FloatKernels<T>& kernels) {
  kernels.transpose = &transpose_matrix<T>;
  kernels.softmax = &softmax<T>;
  kernels.crossentropy = &crossentropy<T>;
  kernels.sparse_crossentropy = &sparse_crossentropy<T>;
}

template void fill_rows(FloatKernels<float>&);
#ifdef ETUDE_FLOAT64
template void fill_rows(FloatKernels<double>&);
#endif

}  // namespace etude::cpu::ETUDE_ISA
