#pragma once

#include "cuda/thread.hpp"

namespace etude::cuda {

/// What all threads of a block bring, joined: neighbouring halves first, so that the order depends on their number
/// alone. Each of them gets it. `shared` has room for all; it may be used again when all have synced once more.
template <unsigned threads, class Part, class Join>
ETUDE_DEVICE Part join_of_block(const Thread& thread, Part* shared, const Part& mine, Join join) {
  static_assert((threads & (threads - 1)) == 0);
  const unsigned t = thread.index();
  shared[t] = mine;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    thread.sync();
    if (t < half) shared[t] = join(shared[t], shared[t + half]);
  }
  thread.sync();
  return shared[0];
}

}  // namespace etude::cuda
