#pragma once

#include "cuda/thread.hpp"

namespace etude::cuda {

/// Reduces the parts of all threads of a block: neighbouring halves first, so the order depends only on their number.
/// Each thread gets the result. `shared` holds all parts, and can be used again after the next sync.
template <unsigned threads, class Part, class Combine>
ETUDE_DEVICE Part combine_block(const Thread& thread, Part* shared, const Part& mine, Combine combine) {
  static_assert((threads & (threads - 1)) == 0);
  const unsigned t = thread.index();
  shared[t] = mine;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    thread.sync();
    if (t < half) shared[t] = combine(shared[t], shared[t + half]);
  }
  thread.sync();
  return shared[0];
}

}  // namespace etude::cuda
