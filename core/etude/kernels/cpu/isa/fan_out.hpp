#pragma once

#include "etude/kernels/cpu/gemm.hpp"
#include "etude/kernels/cpu/isa/gemm_tile.hpp"

namespace etude::cpu::ETUDE_ISA {

/// Calls task(context, part) for each part, on all workers.
inline void fan_out(const Workers& workers, Index parts, void (*task)(void*, int), void* context) {
  if (parts == 1)
    task(context, 0);
  else
    workers.run(workers.pool, static_cast<int>(parts), task, context);
}

/// Units of work that parts process in chunks. Chunks become shorter towards the end: a part whose core is slow, or
/// busy with another process, delays the others by no more than a short chunk. The result does not depend on which part
/// processes a unit. Not std::atomic: the linker could merge its functions with those of other instruction sets.
class Turns {
 public:
  /// `least`: the least units of a chunk.
  Turns(Index units, Index parts, Index least = 1) : units_(units), parts_(parts), least_(least) {}

  /// Sets the next chunk [begin, end); false: there is none left.
  bool next(Index& begin, Index& end) {
    begin = __atomic_load_n(&next_, __ATOMIC_RELAXED);
    do {
      if (begin >= units_) return false;
      end = parts_ == 1 ? units_ : smaller(units_, begin + larger((units_ - begin) / (2 * parts_), least_));
    } while (!__atomic_compare_exchange_n(&next_, &begin, end, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
  }

 private:
  Index units_, parts_, least_, next_ = 0;
};

}  // namespace etude::cpu::ETUDE_ISA
