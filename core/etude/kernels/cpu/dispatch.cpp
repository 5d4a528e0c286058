#include <array>
#include <cstddef>

#include "etude/kernels/cpu/kernels.hpp"

// One declaration per instruction set; the build defines which of them it contains.
namespace etude::cpu::avx512 {
void fill_kernels(Kernels&);
}
namespace etude::cpu::avx2 {
void fill_kernels(Kernels&);
}
namespace etude::cpu::sse2 {
void fill_kernels(Kernels&);
}
namespace etude::cpu::neon64 {
void fill_kernels(Kernels&);
}
namespace etude::cpu::wasm {
void fill_kernels(Kernels&);
}
namespace etude::cpu::wasm_relaxed {
void fill_kernels(Kernels&);
}

namespace etude::cpu {
namespace {

struct Tables {
  std::array<Kernels, 3> tables{};
  std::size_t count = 0;

  void add(void (*fill)(Kernels&)) { fill(tables[count++]); }

  Tables() {
#ifdef ETUDE_ISA_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      add(avx512::fill_kernels);
#endif
#ifdef ETUDE_ISA_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add(avx2::fill_kernels);
#endif
#ifdef ETUDE_ISA_SSE2
    add(sse2::fill_kernels);
#endif
#ifdef ETUDE_ISA_NEON64
    add(neon64::fill_kernels);
#endif
#ifdef ETUDE_ISA_WASM_RELAXED
    add(wasm_relaxed::fill_kernels);
#endif
#ifdef ETUDE_ISA_WASM
    add(wasm::fill_kernels);
#endif
  }
};

}  // namespace

std::span<const Kernels> available_kernels() {
  static const Tables tables;
  return {tables.tables.data(), tables.count};
}

}  // namespace etude::cpu
