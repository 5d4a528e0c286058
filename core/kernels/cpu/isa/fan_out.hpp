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

}  // namespace etude::cpu::ETUDE_ISA
