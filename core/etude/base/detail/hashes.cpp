#include "etude/base/detail/hashes.hpp"

#include <bit>
#include <cstddef>
#include <utility>

namespace etude {
namespace {

/// `bytes` bytes from `at` on, little-endian.
std::uint64_t fetch(const char* at, std::size_t bytes) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    result |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  return result;
}
std::uint64_t fetch64(const char* at) { return fetch(at, 8); }

constexpr std::uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;

std::uint64_t shift_mix(std::uint64_t x) { return x ^ (x >> 47); }

std::uint64_t hash16(std::uint64_t u, std::uint64_t v, std::uint64_t mul) {
  const std::uint64_t a = shift_mix((u ^ v) * mul);
  return shift_mix((v ^ a) * mul) * mul;
}

std::uint64_t hash_up_to_16(const char* s, std::size_t size) {
  const std::uint64_t mul = k2 + size * 2;
  if (size >= 8) {
    const std::uint64_t a = fetch64(s) + k2, b = fetch64(s + size - 8);
    return hash16(std::rotr(b, 37) * mul + a, (std::rotr(a, 25) + b) * mul, mul);
  }
  if (size >= 4) return hash16(size + (fetch(s, 4) << 3), fetch(s + size - 4, 4), mul);
  if (size == 0) return k2;
  const std::uint64_t y = fetch(s, 1) + (fetch(s + size / 2, 1) << 8), z = size + (fetch(s + size - 1, 1) << 2);
  return shift_mix(y * k2 ^ z * k0) * k2;
}

std::uint64_t hash_up_to_32(const char* s, std::size_t size) {
  const std::uint64_t mul = k2 + size * 2;
  const std::uint64_t a = fetch64(s) * k1, b = fetch64(s + 8), c = fetch64(s + size - 8) * mul,
                      d = fetch64(s + size - 16) * k2;
  return hash16(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c, mul);
}

std::uint64_t hash_up_to_64(const char* s, std::size_t size) {
  const std::uint64_t mul = k2 + size * 2;
  const std::uint64_t a = fetch64(s) * k2, b = fetch64(s + 8), c = fetch64(s + size - 8) * mul,
                      d = fetch64(s + size - 16) * k2;
  const std::uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const std::uint64_t z = hash16(y, a + std::rotr(b + k2, 18) + c, mul);
  const std::uint64_t e = fetch64(s + 16) * mul, f = fetch64(s + 24);
  const std::uint64_t g = (y + fetch64(s + size - 32)) * mul, h = (z + fetch64(s + size - 24)) * mul;
  return hash16(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, mul);
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;

/// A weak hash of 32 bytes and two seeds.
Pair hash32_with_seeds(const char* s, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t w = fetch64(s), x = fetch64(s + 8), y = fetch64(s + 16), z = fetch64(s + 24);
  a += w;
  b = std::rotr(b + a + z, 21);
  const std::uint64_t c = a;
  a += x + y;
  b += std::rotr(a, 44);
  return {a + z, b + c};
}

}  // namespace

std::uint64_t fingerprint64(std::string_view text) {
  const char* s = text.data();
  const std::size_t size = text.size();
  if (size <= 16) return hash_up_to_16(s, size);
  if (size <= 32) return hash_up_to_32(s, size);
  if (size <= 64) return hash_up_to_64(s, size);
  constexpr std::uint64_t seed = 81;
  std::uint64_t x = seed, y = seed * k1 + 113, z = shift_mix(y * k2 + 113) * k2;
  Pair v{0, 0}, w{0, 0};
  x = x * k2 + fetch64(s);
  // The last 64 bytes are hashed once more, with other numbers.
  const char* const end = s + (size - 1) / 64 * 64;
  const char* const last = s + size - 64;
  for (; s != end; s += 64) {
    x = std::rotr(x + y + v.first + fetch64(s + 8), 37) * k1;
    y = std::rotr(y + v.second + fetch64(s + 48), 42) * k1;
    x ^= w.second;
    y += v.first + fetch64(s + 40);
    z = std::rotr(z + w.first, 33) * k1;
    v = hash32_with_seeds(s, v.second * k1, x + w.first);
    w = hash32_with_seeds(s + 32, z + w.second, y + fetch64(s + 16));
    std::swap(z, x);
  }
  const std::uint64_t mul = k1 + ((z & 0xff) << 1);
  s = last;
  w.first += (size - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = std::rotr(x + y + v.first + fetch64(s + 8), 37) * mul;
  y = std::rotr(y + v.second + fetch64(s + 48), 42) * mul;
  x ^= w.second * 9;
  y += v.first * 9 + fetch64(s + 40);
  z = std::rotr(z + w.first, 33) * mul;
  v = hash32_with_seeds(s, v.second * mul, x + w.first);
  w = hash32_with_seeds(s + 32, z + w.second, y + fetch64(s + 16));
  std::swap(z, x);
  return hash16(hash16(v.first, w.first, mul) + shift_mix(y) * k0 + z, hash16(v.second, w.second, mul) + x, mul);
}

std::uint64_t concatenated_fingerprints(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t mul = 0xc6a4a7935bd1e995;
  std::uint64_t result = first ^ mul;
  result ^= shift_mix(second * mul) * mul;
  result *= mul;
  return shift_mix(shift_mix(result) * mul);
}

std::uint64_t sip_hash(std::string_view text, std::uint64_t key0, std::uint64_t key1) {
  std::uint64_t v0 = key0 ^ 0x736f6d6570736575, v1 = key1 ^ 0x646f72616e646f6d, v2 = key0 ^ 0x6c7967656e657261,
                v3 = key1 ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  const std::size_t whole = text.size() / 8 * 8;
  for (std::size_t at = 0; at <= whole; at += 8) {
    const std::uint64_t word =
        at < whole ? fetch64(text.data() + at)
                   : fetch(text.data() + whole, text.size() - whole) | static_cast<std::uint64_t>(text.size()) << 56;
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace etude
