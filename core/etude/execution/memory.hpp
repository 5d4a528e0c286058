#pragma once

#include <cstddef>
#include <vector>

namespace etude {

/// A block that is in use from instruction `first` to instruction `last`, both included.
struct Lifetime {
  std::size_t bytes;
  int first, last;
};

/// The offset of each block. Blocks that are in use at the same time do not overlap.
struct Layout {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};

/// Places the largest block first, each at the lowest offset that is free during its lifetime. The result is within
/// some percent of the minimum for the graphs of training steps. Offsets are multiples of 64.
Layout lay_out(const std::vector<Lifetime>& blocks);

}  // namespace etude
