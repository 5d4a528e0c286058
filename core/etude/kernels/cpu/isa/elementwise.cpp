#include <utility>

#include "etude/graph/detail/op.hpp"
#include "etude/kernels/cpu/isa/special.hpp"
#include "etude/kernels/cpu/kernels.hpp"
#include "etude/kernels/cpu/simd.hpp"

namespace etude::cpu::ETUDE_ISA {
namespace {

using instruction::Lane;

/// out[i] = f(a[i], b[i], c[i]), whole registers at a time. A short last register goes through a copy, so that every
/// element is computed by the same code and has the same bits wherever a tile ends.
template <class Out, class A, class T, class F>
[[gnu::always_inline]] inline void for_each(void* out, const void* a, const void* b, const void* c, std::int64_t n,
                                            F f) {
  auto* o = static_cast<Out*>(out);
  const auto* x = static_cast<const A*>(a);
  const auto *y = static_cast<const T*>(b), *z = static_cast<const T*>(c);
  constexpr std::int64_t width = lanes<T>;
  std::int64_t i = 0;
  for (; i + width <= n; i += width) f(o + i, x + i, y + i, z + i);
  if (i == n) return;
  alignas(64) Out last_o[width];
  alignas(64) A last_x[width] = {};
  alignas(64) T last_y[width] = {}, last_z[width] = {};
  for (std::int64_t j = 0; j < n - i; ++j) last_x[j] = x[i + j], last_y[j] = y[i + j], last_z[j] = z[i + j];
  f(last_o, last_x, last_y, last_z);
  for (std::int64_t j = 0; j < n - i; ++j) o[i + j] = last_o[j];
}

/// Stores a register of conditions (1 and 0 of T) as float32 lanes, the form in which programs keep them.
template <class T> [[gnu::always_inline]] inline void store_truth(float* out, Vec<T> value) {
  if constexpr (std::is_same_v<T, float>) {
    store(out, value);
  } else {
    alignas(64) T buffer[lanes<T>];
    value.store_aligned(buffer);
    for (std::ptrdiff_t i = 0; i < lanes<T>; ++i) out[i] = static_cast<float>(buffer[i]);
  }
}

/// Loads float32 lanes that hold a condition, as T.
template <class T> [[gnu::always_inline]] inline Vec<T> load_truth(const float* in) {
  if constexpr (std::is_same_v<T, float>) {
    return load(in);
  } else {
    alignas(64) T buffer[lanes<T>];
    for (std::ptrdiff_t i = 0; i < lanes<T>; ++i) buffer[i] = static_cast<T>(in[i]);
    return Vec<T>::load_aligned(buffer);
  }
}

/// F of registers, by the functions of special.hpp where they are more exact than xsimd's, or faster.
template <class F, class T, class... Vecs>
  requires(std::is_same_v<Vecs, Vec<T>> && ...)
[[gnu::always_inline]] inline Vec<T> value_of(const Vecs&... x) {
  if constexpr (std::is_same_v<F, op::Power>)
    return power<T>(x...);
  else if constexpr (std::is_same_v<F, op::Erf> && std::is_same_v<T, double>)
    return erf(x...);
  else if constexpr (std::is_same_v<F, op::Exp> && std::is_same_v<T, float>)
    return exponential(x...);
  else if constexpr (std::is_same_v<F, op::Tanh> && std::is_same_v<T, float>)
    return tanh(x...);
  else if constexpr (std::is_same_v<F, op::Sigmoid> && std::is_same_v<T, float>)
    return sigmoid(x...);
  else
    return F::apply(x...);
}

template <class F, class T> void apply(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  if constexpr (std::is_same_v<F, op::Select>) {
    for_each<T, float, T>(out, a, b, c, n, [](T* o, const float* x, const T* y, const T* z) {
      store(o, F::apply(load_truth<T>(x), load(y), load(z)));
    });
  } else if constexpr (F::traits.condition) {
    for_each<float, T, T>(out, a, b, c, n, [](float* o, const T* x, const T* y, const T*) {
      if constexpr (F::traits.arity == 1)
        store_truth<T>(o, F::apply(load(x)));
      else
        store_truth<T>(o, F::apply(load(x), load(y)));
    });
  } else {
    for_each<T, T, T>(out, a, b, c, n, [](T* o, const T* x, const T* y, const T*) {
      if constexpr (F::traits.arity == 1)
        store(o, value_of<F, T>(load(x)));
      else
        store(o, value_of<F, T>(load(x), load(y)));
    });
  }
}

template <class T> void truth(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  for_each<float, T, T>(out, a, b, c, n, [](float* o, const T* x, const T*, const T*) {
    store_truth<T>(o, select(load(x) != Vec<T>(T(0)), Vec<T>(T(1)), Vec<T>(T(0))));
  });
}

void to_byte(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  for_each<float, float, float>(out, a, b, c, n, [](float* o, const float* x, const float*, const float*) {
    const Vec<float> zero(0.0f), whole = xsimd::trunc(load(x));
    store(o, select(whole > zero, xsimd::min(whole, Vec<float>(255.0f)), zero));
  });
}

using Bits = xsimd::batch<std::uint32_t, Arch>;

/// Rounds to the nearest half-precision number, ties to even, as Float16 and BFloat16 do.
void to_bfloat16(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  for_each<float, float, float>(out, a, b, c, n, [](float* o, const float* in, const float*, const float*) {
    const Vec<float> x = load(in);
    const Bits bits = xsimd::bitwise_cast<std::uint32_t>(x);
    const Bits rounded = (bits + Bits(0x7FFFu) + ((bits >> 16) & Bits(1u))) & Bits(0xFFFF0000u);
    const Bits nan = (bits & Bits(0xFFFF0000u)) | Bits(0x00400000u);
    store(o, select(x == x, xsimd::bitwise_cast<float>(rounded), xsimd::bitwise_cast<float>(nan)));
  });
}
void to_float16(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  for_each<float, float, float>(out, a, b, c, n, [](float* o, const float* in, const float*, const float*) {
    const Vec<float> x = load(in), size = xsimd::abs(x);
    const Bits sign = xsimd::bitwise_cast<std::uint32_t>(x) & Bits(0x80000000u);
    const Bits bits = xsimd::bitwise_cast<std::uint32_t>(size);
    const Bits rounded = (bits + Bits(0xFFFu) + ((bits >> 13) & Bits(1u))) & Bits(0xFFFFE000u);
    // Below the smallest normal number, values are whole multiples of 2^-24; the addition rounds to them.
    const Vec<float> half(0.5f), small = (size + half) - half;
    Vec<float> result = select(size < Vec<float>(0x1p-14f), small, xsimd::bitwise_cast<float>(rounded));
    result = select(size >= Vec<float>(65520.0f), Vec<float>(std::numeric_limits<float>::infinity()), result);
    result = select(x == x, result, Vec<float>(std::numeric_limits<float>::quiet_NaN()));
    store(o, xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::uint32_t>(result) | sign));
  });
}

template <class F, class T> constexpr ElementwiseKernel kernel() {
  if constexpr (F::traits.floating && !std::is_floating_point_v<T>)
    return nullptr;
  else
    return &apply<F, T>;
}

template <class T, std::size_t... I> void fill_row(ElementwiseKernel* row, std::index_sequence<I...>) {
  ((row[I] = kernel<std::tuple_element_t<I, op::Elementwise>, T>()), ...);
  row[instruction::truth_code] = &truth<T>;
}

}  // namespace

// Conversions between lanes are rare and memory-bound: program_runner.cpp defines them.
void fill_elementwise(ElementwiseKernel (&table)[3][instruction::opcode_count]) {
  constexpr auto functions = std::make_index_sequence<instruction::elementwise_count>{};
  fill_row<float>(table[static_cast<int>(Lane::float32)], functions);
  fill_row<std::int32_t>(table[static_cast<int>(Lane::int32)], functions);
#ifdef ETUDE_FLOAT64
  fill_row<double>(table[static_cast<int>(Lane::float64)], functions);
#endif
  table[static_cast<int>(Lane::float32)][instruction::byte_code] = &to_byte;
  table[static_cast<int>(Lane::float32)][instruction::float16_code] = &to_float16;
  table[static_cast<int>(Lane::float32)][instruction::bfloat16_code] = &to_bfloat16;
}

}  // namespace etude::cpu::ETUDE_ISA
