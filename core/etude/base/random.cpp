#include "etude/base/random.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace etude {
namespace {

std::atomic<std::uint64_t> seed_{0};
std::atomic<std::uint32_t> streams_{0};

/// The counters of some blocks, starting at `first`.
struct Blocks {
  std::uint64_t key, first;
  std::uint32_t substream, stream;
};

/// 64 blocks, in loops that compilers vectorize.
constexpr std::size_t portable_blocks = 64;
void draw_portable(const Blocks& blocks, std::uint32_t* out) {
  constexpr std::size_t count = portable_blocks;
  std::uint32_t a[count], b[count], c[count], d[count];
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<std::uint32_t>(blocks.first + i);
    b[i] = static_cast<std::uint32_t>((blocks.first + i) >> 32);
    c[i] = blocks.substream;
    d[i] = blocks.stream;
  }
  auto k0 = static_cast<std::uint32_t>(blocks.key), k1 = static_cast<std::uint32_t>(blocks.key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * a[i], p1 = std::uint64_t{0xCD9E8D57} * c[i];
      a[i] = static_cast<std::uint32_t>(p1 >> 32) ^ b[i] ^ k0;
      c[i] = static_cast<std::uint32_t>(p0 >> 32) ^ d[i] ^ k1;
      b[i] = static_cast<std::uint32_t>(p1);
      d[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t block[] = {a[i], b[i], c[i], d[i]};
    std::copy_n(block, 4, out + 4 * i);
  }
}

#ifdef __x86_64__
/// Eight blocks. Each 32-bit word has its own 64-bit lane, since the multiplications read the lower half of a lane and
/// write all of it. The upper halves are never read.
constexpr std::size_t avx2_blocks = 8;
[[gnu::target("avx2")]] void draw_avx2(const Blocks& blocks, std::uint32_t* out) {
  __m256i a[2], b[2], c[2], d[2];
  for (int i = 0; i < 2; ++i) {
    a[i] = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(blocks.first) + 4 * i),
                            _mm256_setr_epi64x(0, 1, 2, 3));
    b[i] = _mm256_srli_epi64(a[i], 32);
    c[i] = _mm256_set1_epi64x(blocks.substream);
    d[i] = _mm256_set1_epi64x(blocks.stream);
  }
  auto k0 = static_cast<std::uint32_t>(blocks.key), k1 = static_cast<std::uint32_t>(blocks.key >> 32);
  for (int round = 0; round < 10; ++round) {
    const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
    for (int i = 0; i < 2; ++i) {
      const __m256i p0 = _mm256_mul_epu32(a[i], _mm256_set1_epi64x(0xD2511F53)),
                    p1 = _mm256_mul_epu32(c[i], _mm256_set1_epi64x(0xCD9E8D57));
      a[i] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), b[i]), key0);
      c[i] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), d[i]), key1);
      b[i] = p1;
      d[i] = p0;
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF);
  for (int i = 0; i < 2; ++i) {
    const __m256i ab = _mm256_or_si256(_mm256_and_si256(a[i], low), _mm256_slli_epi64(b[i], 32)),
                  cd = _mm256_or_si256(_mm256_and_si256(c[i], low), _mm256_slli_epi64(d[i], 32));
    const __m256i even = _mm256_unpacklo_epi64(ab, cd), odd = _mm256_unpackhi_epi64(ab, cd);
    auto* to = reinterpret_cast<__m256i*>(out + 16 * i);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
}

/// The same for sixteen blocks.
constexpr std::size_t avx512_blocks = 16;
constexpr __mmask8 all_lanes = 0xFF;  // GCC 12 warns about its intrinsics without a mask
[[gnu::target("avx512f")]] void draw_avx512(const Blocks& blocks, std::uint32_t* out) {
  __m512i a[2], b[2], c[2], d[2];
  for (int i = 0; i < 2; ++i) {
    a[i] = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(blocks.first) + 8 * i),
                            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    b[i] = _mm512_maskz_srli_epi64(all_lanes, a[i], 32);
    c[i] = _mm512_set1_epi64(blocks.substream);
    d[i] = _mm512_set1_epi64(blocks.stream);
  }
  auto k0 = static_cast<std::uint32_t>(blocks.key), k1 = static_cast<std::uint32_t>(blocks.key >> 32);
  for (int round = 0; round < 10; ++round) {
    const __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
    for (int i = 0; i < 2; ++i) {
      const __m512i p0 = _mm512_maskz_mul_epu32(all_lanes, a[i], _mm512_set1_epi64(0xD2511F53)),
                    p1 = _mm512_maskz_mul_epu32(all_lanes, c[i], _mm512_set1_epi64(0xCD9E8D57));
      a[i] = _mm512_xor_si512(_mm512_xor_si512(_mm512_maskz_srli_epi64(all_lanes, p1, 32), b[i]), key0);
      c[i] = _mm512_xor_si512(_mm512_xor_si512(_mm512_maskz_srli_epi64(all_lanes, p0, 32), d[i]), key1);
      b[i] = p1;
      d[i] = p0;
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const __m512i low = _mm512_set1_epi64(0xFFFFFFFF), first_half = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                second_half = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  for (int i = 0; i < 2; ++i) {
    const __m512i ab = _mm512_or_si512(_mm512_and_si512(a[i], low), _mm512_maskz_slli_epi64(all_lanes, b[i], 32)),
                  cd = _mm512_or_si512(_mm512_and_si512(c[i], low), _mm512_maskz_slli_epi64(all_lanes, d[i], 32));
    _mm512_storeu_si512(out + 32 * i, _mm512_permutex2var_epi64(ab, first_half, cd));
    _mm512_storeu_si512(out + 32 * i + 16, _mm512_permutex2var_epi64(ab, second_half, cd));
  }
}
#endif

}  // namespace

void philox_blocks(std::uint64_t key, std::uint64_t first, std::uint32_t substream, std::uint32_t stream,
                   std::span<std::uint32_t> out) {
  std::uint32_t* to = out.data();
  const std::uint64_t end = first + out.size() / 4;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f"))
    for (; end - first >= avx512_blocks; first += avx512_blocks, to += 4 * avx512_blocks)
      draw_avx512({key, first, substream, stream}, to);
  if (__builtin_cpu_supports("avx2"))
    for (; end - first >= avx2_blocks; first += avx2_blocks, to += 4 * avx2_blocks)
      draw_avx2({key, first, substream, stream}, to);
#endif
  for (; end - first >= portable_blocks; first += portable_blocks, to += 4 * portable_blocks)
    draw_portable({key, first, substream, stream}, to);
  for (; first != end; ++first, to += 4)
    std::ranges::copy(
        philox(key, {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first >> 32), substream, stream}),
        to);
}

std::uint32_t Random::bits() {
  if (used_ == 4) {
    drawn_ = philox(
        seed_, {static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32), substream_, stream_});
    ++block_;
    used_ = 0;
  }
  return drawn_[static_cast<std::size_t>(used_++)];
}

void Random::bits(std::span<std::uint32_t> out) {
  std::size_t i = 0;
  while (i < out.size() && used_ < 4) out[i++] = bits();  // the rest of a started block
  const std::size_t whole = (out.size() - i) / 4 * 4;
  philox_blocks(seed_, block_, substream_, stream_, out.subspan(i, whole));
  block_ += whole / 4;
  for (i += whole; i < out.size(); ++i) out[i] = bits();
}

double Random::normal() {
  // 1 - u lies in (0, 1], so the logarithm is finite.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(uniform())));
  return radius * std::cos(2.0 * std::numbers::pi * static_cast<double>(uniform()));
}

double Random::truncated_normal() {
  for (;;)
    if (const double z = normal(); std::abs(z) < 2.0) return z;
}

std::uint32_t Random::below(std::uint32_t bound) {
  // Lemire's multiply-shift: rejects the few draws that would favour small results.
  const std::uint32_t threshold = (0u - bound) % bound;
  for (;;) {
    const std::uint64_t product = std::uint64_t{bits()} * bound;
    if (static_cast<std::uint32_t>(product) >= threshold) return static_cast<std::uint32_t>(product >> 32);
  }
}

void shuffled_order(std::vector<std::int64_t>& order, std::uint64_t seed, std::uint32_t epoch) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Random random(seed, RandomStream::shuffle, epoch);
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[random.below(static_cast<std::uint32_t>(left))]);
}

void set_random_seed(std::uint64_t seed) {
  seed_ = seed;
  streams_ = 0;
}

std::uint64_t random_seed() { return seed_; }

std::uint32_t next_random_stream() { return streams_++; }

}  // namespace etude
