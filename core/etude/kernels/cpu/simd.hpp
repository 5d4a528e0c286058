#pragma once

// The only file that includes xsimd. The files of isa/ include it; they are compiled once per instruction set with
// -DETUDE_ISA=<one of the names below> and that set's compiler flags. They define everything in etude::cpu::ETUDE_ISA:
// an inline function outside that namespace could be compiled with AVX-512 in one file, and the linker could use that
// version everywhere.

#include <cstddef>
#include <cstdint>
#include <xsimd/xsimd.hpp>

namespace etude::cpu::architecture {

using sse2 = xsimd::sse2;
using avx2 = xsimd::fma3<xsimd::avx2>;
using avx512 = xsimd::avx512bw;
using neon64 = xsimd::neon64;
using wasm = xsimd::wasm;
using wasm_relaxed = xsimd::wasm;

}  // namespace etude::cpu::architecture

namespace etude::cpu::ETUDE_ISA {

using Arch = architecture::ETUDE_ISA;

/// One register of T.
template <class T>
using Vec = xsimd::batch<T, Arch>;

/// Elements of T in one register.
template <class T>
inline constexpr std::ptrdiff_t lanes = static_cast<std::ptrdiff_t>(Vec<T>::size);

/// Bytes of one register, and the number of registers available to a kernel. V8 reserves one, and without fused
/// arithmetic a product needs another until it is added to its sum.
inline constexpr std::size_t register_bytes = sizeof(Vec<float>);
#if defined(__wasm_relaxed_simd__)
inline constexpr int registers = 15;
#elif defined(__wasm_simd128__)
inline constexpr int registers = 14;
#elif defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int registers = 32;
#else
inline constexpr int registers = 16;
#endif

template <class T>
[[gnu::always_inline]] inline Vec<T> load(const T* source) {
  return Vec<T>::load_unaligned(source);
}

template <class T>
[[gnu::always_inline]] inline void store(T* target, Vec<T> value) {
  value.store_unaligned(target);
}

template <class T>
[[gnu::always_inline]] inline Vec<T> broadcast(T value) {
  return Vec<T>(value);
}

/// a · b + c: rounded once on avx2, avx512 and neon64, twice on sse2 and wasm, and as the machine prefers on
/// wasm_relaxed.
template <class T>
[[gnu::always_inline]] inline Vec<T> madd(Vec<T> a, Vec<T> b, Vec<T> c) {
#if defined(__wasm_relaxed_simd__)
  if constexpr (sizeof(T) == 4)
    return wasm_f32x4_relaxed_madd(a, b, c);
  else
    return wasm_f64x2_relaxed_madd(a, b, c);
#else
  return xsimd::fma(a, b, c);
#endif
}

/// x where that is no more than `most`; NaN stays NaN, because each machine's minimum returns one particular operand
/// then.
template <class T>
[[gnu::always_inline]] inline Vec<T> at_most(Vec<T> x, T most) {
#if defined(__wasm_simd128__)
  return xsimd::min(x, Vec<T>(most));
#else
  return xsimd::min(Vec<T>(most), x);
#endif
}
template <class T>
[[gnu::always_inline]] inline Vec<T> at_least(Vec<T> x, T least) {
#if defined(__wasm_simd128__)
  return xsimd::max(x, Vec<T>(least));
#else
  return xsimd::max(Vec<T>(least), x);
#endif
}

/// Loads the first `count` elements (0 < count ≤ lanes) and zeros after them. Nothing beyond them is accessed.
template <class T>
[[gnu::always_inline]] inline Vec<T> load_first(const T* source, std::ptrdiff_t count) {
#if defined(__AVX512F__)
  const auto mask = (1u << count) - 1u;
  if constexpr (sizeof(T) == 4)
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), source);
  else
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), source);
#elif defined(__AVX2__)
  static constexpr std::int32_t ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  constexpr std::ptrdiff_t words = sizeof(T) / 4;
  const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + 8 - count * words));
  if constexpr (sizeof(T) == 4)
    return _mm256_maskload_ps(source, mask);
  else
    return _mm256_maskload_pd(source, mask);
#else
  // Sixteen bytes: loads element by element. A copy through memory would stall the load that follows it.
  if constexpr (lanes<T> == 2) {
    return count == 2 ? load(source) : Vec<T>(source[0], T(0));
  } else {
    if (count == 1) return Vec<T>(source[0], T(0), T(0), T(0));
    if (count == 2) return Vec<T>(source[0], source[1], T(0), T(0));
    if (count == 3) return Vec<T>(source[0], source[1], source[2], T(0));
    return load(source);
  }
#endif
}

/// Stores the first `count` elements (0 < count ≤ lanes). Nothing beyond them is accessed.
template <class T>
[[gnu::always_inline]] inline void store_first(T* target, Vec<T> value, std::ptrdiff_t count) {
#if defined(__AVX512F__)
  const auto mask = (1u << count) - 1u;
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(target, static_cast<__mmask16>(mask), value);
  else
    _mm512_mask_storeu_pd(target, static_cast<__mmask8>(mask), value);
#elif defined(__AVX2__)
  // By halves: masked stores are slow on many machines.
  if constexpr (sizeof(T) == 4) {
    const __m256 whole = value;
    if (count == 8) return _mm256_storeu_ps(target, whole);
    __m128 rest = _mm256_castps256_ps128(whole);
    if ((count & 4) != 0) {
      _mm_storeu_ps(target, rest);
      rest = _mm256_extractf128_ps(whole, 1);
      target += 4;
    }
    if ((count & 2) != 0) {
      _mm_storel_pi(reinterpret_cast<__m64*>(target), rest);
      rest = _mm_movehl_ps(rest, rest);
      target += 2;
    }
    if ((count & 1) != 0) _mm_store_ss(target, rest);
  } else {
    const __m256d whole = value;
    if (count == 4) return _mm256_storeu_pd(target, whole);
    __m128d rest = _mm256_castpd256_pd128(whole);
    if ((count & 2) != 0) {
      _mm_storeu_pd(target, rest);
      rest = _mm256_extractf128_pd(whole, 1);
      target += 2;
    }
    if ((count & 1) != 0) _mm_store_sd(target, rest);
  }
#else
  alignas(register_bytes) T buffer[lanes<T>];
  value.store_aligned(buffer);
  for (std::ptrdiff_t i = 0; i < count; ++i) target[i] = buffer[i];
#endif
}

/// Whether there is an instruction that prefetches memory into the cache.
#if defined(__wasm__)
inline constexpr bool fetches_ahead = false;
#else
inline constexpr bool fetches_ahead = true;
#endif

/// Prefetches the line of memory at any address, readable or not, into the first-level cache.
[[gnu::always_inline]] inline void fetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");  // else GCC treats this function as free of effects and drops its calls
}

/// `lanes` bytes as numbers.
template <class T>
[[gnu::always_inline]] inline Vec<T> load_bytes(const std::uint8_t* source) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source))));
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(source))));
#elif defined(__wasm_simd128__)
  if constexpr (sizeof(T) == 4)
    return wasm_f32x4_convert_i32x4(
        wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(source))));
#endif
  alignas(register_bytes) T buffer[lanes<T>];
  for (std::ptrdiff_t i = 0; i < lanes<T>; ++i) buffer[i] = static_cast<T>(source[i]);
  return Vec<T>::load_aligned(buffer);
}

/// Reads `lanes` elements of each of `lanes` lines and transposes that square. Lines from `count` on repeat the last
/// one.
template <class T>
[[gnu::always_inline]] inline void load_transposed(const T* lines, std::ptrdiff_t distance, std::ptrdiff_t count,
                                                   Vec<T> (&square)[static_cast<std::size_t>(lanes<T>)]) {
  const auto line = [=](std::ptrdiff_t i)
                        __attribute__((always_inline)) { return lines + (i < count ? i : count - 1) * distance; };
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    // Lines 4, 8 and 12 further are loaded into the upper quarters; 4 × 4 squares within quarters remain.
    for (int quarter = 0; quarter < 4; ++quarter) {
      __m512 four[4];
      for (int i = 0; i < 4; ++i) {
        const auto piece = [=](int of)
                               __attribute__((always_inline)) { return _mm_loadu_ps(line(i + of) + 4 * quarter); };
        four[i] = _mm512_insertf32x4(_mm512_castps128_ps512(piece(0)), piece(4), 1);
        four[i] = _mm512_insertf32x4(_mm512_insertf32x4(four[i], piece(8), 2), piece(12), 3);
      }
      const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(four[0], four[1])),
                    high01 = _mm512_castps_pd(_mm512_unpackhi_ps(four[0], four[1]));
      const __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(four[2], four[3])),
                    high23 = _mm512_castps_pd(_mm512_unpackhi_ps(four[2], four[3]));
      square[4 * quarter] = _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23));
      square[4 * quarter + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23));
      square[4 * quarter + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23));
      square[4 * quarter + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23));
    }
    return;
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    // Lines 4 to 7 are loaded into the upper halves, which saves a third of the shuffles.
    for (int half = 0; half < 2; ++half) {
      __m256 pair[4];
      for (int i = 0; i < 4; ++i)
        pair[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(line(i) + 4 * half)),
                                       _mm_loadu_ps(line(i + 4) + 4 * half), 1);
      const __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(pair[0], pair[1])),
                    high01 = _mm256_castps_pd(_mm256_unpackhi_ps(pair[0], pair[1]));
      const __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps(pair[2], pair[3])),
                    high23 = _mm256_castps_pd(_mm256_unpackhi_ps(pair[2], pair[3]));
      square[4 * half] = _mm256_castpd_ps(_mm256_unpacklo_pd(low01, low23));
      square[4 * half + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low01, low23));
      square[4 * half + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high01, high23));
      square[4 * half + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high01, high23));
    }
    return;
  }
#endif
  for (std::ptrdiff_t i = 0; i < lanes<T>; ++i) square[i] = load(line(i));
  xsimd::transpose(square, square + lanes<T>);
}

/// Transposes the square of `lanes` registers in place.
template <class T>
[[gnu::always_inline]] inline void transpose(Vec<T> (&square)[static_cast<std::size_t>(lanes<T>)]) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {  // xsimd would go through memory element by element
    alignas(register_bytes) T lines[lanes<T> * lanes<T>];
    for (std::ptrdiff_t i = 0; i < lanes<T>; ++i) store(lines + i * lanes<T>, square[i]);
    load_transposed(lines, lanes<T>, lanes<T>, square);
    return;
  }
#endif
  xsimd::transpose(square, square + lanes<T>);
}

}  // namespace etude::cpu::ETUDE_ISA
