#pragma once

#include <cstddef>
#include <vector>

namespace etude {

/// A block that lives from instruction `first` to instruction `last`, both included.
struct Lifetime {
  std::size_t bytes;
  int first, last;
};

/// Where each block lies, such that blocks alive at the same time do not overlap.
struct Layout {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};

/// Largest block first, each at the lowest offset that is free throughout its life: within some percent of the least
/// possible for the graphs of training steps. Offsets are multiples of 64.
Layout lay_out(const std::vector<Lifetime>& blocks);

}  // namespace etude
