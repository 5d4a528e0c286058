#include "etude/base/random.hpp"

#include <atomic>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace etude {
namespace {

std::atomic<std::uint64_t> seed_{0};
std::atomic<std::uint32_t> streams_{0};

}  // namespace

std::uint32_t Random::bits() {
  if (used_ == 4) {
    drawn_ = philox(
        seed_, {static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32), substream_, stream_});
    ++block_;
    used_ = 0;
  }
  return drawn_[static_cast<std::size_t>(used_++)];
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
  // Lemire's multiply-shift: reject the few draws that would favour small results.
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
