#include "etude/execution/memory.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>

#include "etude/base/detail/heap_sort.hpp"

namespace etude {

/// Offsets are signed.
constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();

Layout lay_out(const std::vector<Lifetime>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  heap_sort(order, [&](std::size_t a, std::size_t b) {
    return blocks[a].bytes != blocks[b].bytes ? blocks[a].bytes > blocks[b].bytes : a < b;
  });

  Layout layout{std::vector<std::size_t>(blocks.size()), 0};
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t block : order) {
    const Lifetime& life = blocks[block];
    const std::size_t bytes = (life.bytes + 63) / 64 * 64;
    if (bytes > most) throw std::bad_alloc();
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      const bool together = blocks[other].first <= life.last && life.first <= blocks[other].last;
      if (!together) continue;
      if (offset + bytes <= layout.offsets[other]) break;
      offset = std::max(offset, layout.offsets[other] + (blocks[other].bytes + 63) / 64 * 64);
    }
    layout.offsets[block] = offset;
    if (offset > most - bytes) throw std::bad_alloc();
    layout.bytes = std::max(layout.bytes, offset + bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, [&](std::size_t p) { return layout.offsets[p]; }),
                  block);
  }
  return layout;
}

}  // namespace etude
