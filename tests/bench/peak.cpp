#include "peak.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "clock.hpp"
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace {

/// Enough independent sums to hide the latency of a multiply-add; each starts with another value, or they would be
/// merged.
constexpr int sums = 10;
constexpr int rounds = 4'000'000;

struct Work {
  int lanes;
  float (*multiply_adds)();
};

float narrow() {
  using Vector = float __attribute__((vector_size(16)));
  std::array<Vector, sums> sum;
  for (int i = 0; i < sums; ++i) sum[static_cast<std::size_t>(i)] = Vector{} + static_cast<float>(i);
  const Vector x = {0.999F, 0.999F, 0.999F, 0.999F}, y = {0.001F, 0.001F, 0.001F, 0.001F};
  for (int i = 0; i < rounds; ++i)
    for (Vector& s : sum) s = s * x + y;
  float result = 0;
  for (const Vector s : sum) result += s[0];
  return result;
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) float fused() {
  __m256 sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 x = _mm256_set1_ps(0.999F), y = _mm256_set1_ps(0.001F);
  for (int i = 0; i < rounds; ++i)
    for (__m256& s : sum) s = _mm256_fmadd_ps(s, x, y);
  float result = 0;
  for (const __m256 s : sum) result += _mm256_cvtss_f32(s);
  return result;
}
__attribute__((target("avx512f"))) float wide() {
  __m512 sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 x = _mm512_set1_ps(0.999F), y = _mm512_set1_ps(0.001F);
  for (int i = 0; i < rounds; ++i)
    for (__m512& s : sum) s = _mm512_fmadd_ps(s, x, y);
  float result = 0;
  for (const __m512 s : sum) result += s[0];
  return result;
}
#endif

/// With the register width of this CPU and Étude's kernels.
Work best() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return {16, wide};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {8, fused};
#endif
  return {4, narrow};
}

/// The best of several, because other processes may use the machine too.
template <class Body> double shortest(Body body) {
  double least = 1e9;
  for (int i = 0; i < 9; ++i) {
    const double began = wall_seconds();
    body();
    least = std::min(least, wall_seconds() - began);
  }
  return least;
}

}  // namespace

void print_peak() {
  volatile float sink = 0;
  const Work work = best();
  const double flops = 2.0 * work.lanes * sums * rounds / shortest([&] { sink = work.multiply_adds(); });
  std::vector<float> memory(32 << 20, 1.0F);
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(memory.size()) / shortest([&] {
                         for (float& element : memory) element *= 0.5F;
                         sink = memory[1];
                       });
  std::printf(R"({"target": "%s", "peak_gflops": %.1f, "gbytes_per_s": %.1f})"
              "\n",
              target_name(), 1e-9 * flops, 1e-9 * bytes);
}
