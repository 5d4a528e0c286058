#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace etude {

/// Philox4x32-10: 128 random bits from a key and a counter, the same on every target. There is no state to save
/// but the counter. Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0], p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

/// Four numbers for each of the counters {first, first + 1, …; substream, stream}, of which the first is 64 bits wide:
/// out.size() / 4 blocks with the bits of philox(), many blocks at a time.
void philox_blocks(std::uint64_t key, std::uint64_t first, std::uint32_t substream, std::uint32_t stream,
                   std::span<std::uint32_t> out);

/// The upper 24 bits as a float in [0, 1).
constexpr float uniform_from_bits(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

/// The key of one layer's draws, besides their counter.
struct RandomKey {
  /// The seed, which all streams share.
  std::uint64_t seed = 0;
  /// The stream, which separates draws of different purposes.
  std::uint32_t stream = 0;
  friend bool operator==(const RandomKey&, const RandomKey&) = default;
};

/// The independent sequences of one seed.
enum class RandomStream : std::uint32_t { initializer = 1, shuffle = 2, step = 3, search = 4 };

/// A sequence of draws from (seed, stream, substream), for host-side work: initial weights and shuffles.
class Random {
 public:
  /// Draws from a stream of the seed, beginning at its first number.
  Random(std::uint64_t seed, RandomStream stream, std::uint32_t substream = 0)
      : seed_(seed), stream_(static_cast<std::uint32_t>(stream)), substream_(substream) {}

  /// The next 32 bits.
  std::uint32_t bits();
  /// The next out.size() results of bits(), many at a time.
  void bits(std::span<std::uint32_t> out);
  /// In [0, 1), 24 bits.
  float uniform() { return uniform_from_bits(bits()); }
  /// Standard normal (Box-Muller).
  double normal();
  /// A standard normal, redrawn until it is within two standard deviations.
  double truncated_normal();
  /// In [0, bound), without bias.
  std::uint32_t below(std::uint32_t bound);

 private:
  std::uint64_t seed_;
  std::uint32_t stream_, substream_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> drawn_{};
  int used_ = 4;
};

/// Fills `order` with a permutation of 0 … order.size()-1 that depends on (seed, epoch) only. Allocates nothing.
void shuffled_order(std::vector<std::int64_t>& order, std::uint64_t seed, std::uint32_t epoch);

/// Makes initial weights, shuffles and dropout reproducible from here on. Source: keras.utils.set_random_seed.
void set_random_seed(std::uint64_t seed);
/// The last seed (default: 0).
std::uint64_t random_seed();
/// A new number at each call since set_random_seed: the stream of an initializer or layer.
std::uint32_t next_random_stream();

}  // namespace etude
