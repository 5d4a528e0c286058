#pragma once

#include <utility>

#include "cuda/divisor.hpp"
#include "cuda/kernel.hpp"

// Sorts distinct numbers, whose order is unique. No thread depends on counters that other threads update.

namespace etude::cuda {

using Key = std::uint64_t;

/// The number of keys that a block sorts in shared memory.
inline constexpr std::int64_t sorted_by_block = 2048;

/// keys(i), i < count, as sorted runs of sorted_by_block, by a bitonic network.
template <class Keys>
struct SortRuns {
  static constexpr const char* name = "sort runs";
  static constexpr unsigned threads = 512;
  using Meets = void;
  struct Shared {
    Key keys[sorted_by_block];
  };
  std::int64_t count;
  Keys keys;
  Key* out;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    constexpr unsigned run = static_cast<unsigned>(sorted_by_block);
    const std::int64_t first = thread.block() * sorted_by_block;
    for (unsigned i = thread.index(); i < run; i += threads)
      shared.keys[i] = first + i < count ? keys(first + i) : ~Key{0};
    for (unsigned size = 2; size <= run; size *= 2)
      for (unsigned distance = size / 2; distance > 0; distance /= 2) {
        thread.sync();
        for (unsigned pair = thread.index(); pair < run / 2; pair += threads) {
          const unsigned low = pair / distance * (2 * distance) + pair % distance, high = low + distance;
          const Key a = shared.keys[low], b = shared.keys[high];
          if ((a > b) == ((low & size) == 0)) shared.keys[low] = b, shared.keys[high] = a;
        }
      }
    thread.sync();
    for (unsigned i = thread.index(); i < run; i += threads)
      if (first + i < count) out[first + i] = shared.keys[i];
  }
};

/// Merges pairs of sorted runs. A key's position is its number in its own run, plus the number of smaller keys in the
/// other run.
struct MergeRuns {
  static constexpr const char* name = "merge runs";
  std::int64_t count, run;
  const Key* in;
  Key* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    const Key key = in[i];
    const std::int64_t own = i & -run;  // the length of runs is a power of two
    std::int64_t low = own ^ run, high = low + run;
    if (low > count) low = count;
    if (high > count) high = count;
    const std::int64_t other = low;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (in[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
    out[(own & -(2 * run)) + (i - own) + (low - other)] = key;
  }
};

/// Enqueues the sort of keys(i), i < count. Returns the address of the result: one of both buffers, each of which is
/// large enough for all keys.
template <class Keys>
const Key* sort(Runtime& runtime, std::int64_t count, const Keys& keys, Key* sorted, Key* other) {
  launch(runtime, blocks_for(count, sorted_by_block), SortRuns<Keys>{count, keys, sorted});
  for (std::int64_t run = sorted_by_block; run < count; run *= 2) {
    launch_each(runtime, count, MergeRuns{count, run, sorted, other});
    std::swap(sorted, other);
  }
  return sorted;
}

}  // namespace etude::cuda
