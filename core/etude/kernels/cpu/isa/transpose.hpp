#pragma once

#include "etude/kernels/cpu/simd.hpp"

namespace etude::cpu::ETUDE_ISA {

/// out[c · out_row + r] = in[r · in_row + c] for r < rows, c < columns: squares of registers, in blocks of rows that
/// stay in the first-level cache.
template <class T> [[gnu::noinline]] void transpose_matrix(const T* in, std::int64_t in_row, T* out,
                                                           std::int64_t out_row, std::int64_t rows,
                                                           std::int64_t columns) {
  constexpr std::int64_t width = lanes<T>;
  for (std::int64_t r = 0; r < rows; r += width) {
    const auto live = static_cast<std::ptrdiff_t>(rows - r < width ? rows - r : width);
    std::int64_t c = 0;
    for (; c + width <= columns; c += width) {
      Vec<T> square[lanes<T>];
      load_transposed(in + r * in_row + c, static_cast<std::ptrdiff_t>(in_row), live, square);
      T* target = out + c * out_row + r;
      if (live == lanes<T>)
        for (std::ptrdiff_t i = 0; i < lanes<T>; ++i) store(target + i * out_row, square[i]);
      else
        for (std::ptrdiff_t i = 0; i < lanes<T>; ++i) store_first(target + i * out_row, square[i], live);
    }
    for (; c < columns; ++c)
      for (std::int64_t i = 0; i < live; ++i) out[c * out_row + r + i] = in[(r + i) * in_row + c];
  }
}

}  // namespace etude::cpu::ETUDE_ISA
