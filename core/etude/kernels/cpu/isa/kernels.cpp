#include "etude/kernels/cpu/kernels.hpp"

#include "etude/kernels/cpu/isa/convolution_shallow.hpp"
#include "etude/kernels/cpu/isa/gemm_tile.hpp"

#define ETUDE_STRING_(name) #name
#define ETUDE_STRING(name) ETUDE_STRING_(name)

namespace etude::cpu::ETUDE_ISA {
namespace {

template <class T> void fill(FloatKernels<T>& kernels) {
  kernels.tile = {static_cast<int>(lanes<T>), tile_rows, shallow_pays ? static_cast<int>(shallow_rows) : 0};
  kernels.gemm = [](const GemmArguments<T>& arguments, const Workers& workers) { gemm(arguments, workers); };
  kernels.gemm_workspace = &gemm_workspace<T>;
  kernels.convolve = &convolve<T>;
  kernels.convolve_input = &convolve_input<T>;
  kernels.convolve_filter = &convolve_filter<T>;
  kernels.convolve_workspace = &convolve_workspace<T>;
  kernels.convolve_input_workspace = &convolve_input_workspace<T>;
  kernels.convolve_filter_workspace = &convolve_filter_workspace<T>;
  kernels.max_pool = &max_pool<T>;
  fill_reductions(kernels);
  fill_rows(kernels);
}

}  // namespace

/// The table of this instruction set.
void fill_kernels(Kernels& kernels) {
  kernels.isa = ETUDE_STRING(ETUDE_ISA);
  fill(kernels.float32);
#ifdef ETUDE_FLOAT64
  fill(kernels.float64);
#endif
  fill_elementwise(kernels.elementwise);
}

}  // namespace etude::cpu::ETUDE_ISA
