#pragma once

#include "etude/kernels/cpu/gemm.hpp"
#include "etude/kernels/cpu/isa/gemm_tile.hpp"

namespace etude::cpu::ETUDE_ISA {

/// task(context, part) for each part, on all workers.
inline void fan_out(const Workers& workers, Index parts, void (*task)(void*, int), void* context) {
  if (parts == 1)
    task(context, 0);
  else
    workers.run(workers.pool, static_cast<int>(parts), task, context);
}

/// Units of work at which parts take turns, in stretches that become shorter towards the end: a part whose core is
/// slow, or belongs to another process for a while, delays the others by no more than a short stretch. Who does a unit
/// changes nothing in the result. Not std::atomic, whose functions other instruction sets would share.
class Turns {
 public:
  /// `least`: units that are worth a turn.
  Turns(Index units, Index parts, Index least = 1) : units_(units), parts_(parts), least_(least) {}

  /// The next stretch [begin, end); false: there is nothing left.
  bool take(Index& begin, Index& end) {
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
