#pragma once

#include <span>
#include <string>
#include <vector>

#include "cuda/cublas_lt.hpp"
#include "cuda/program_cache.hpp"

struct CUstream_st;

namespace etude::cuda {

/// What is loaded when it is needed: NVRTC compiles programs, NVIDIA's driver loads and launches them, cuBLASLt
/// multiplies. Source: cuda.h, of which the driver's functions are; what they return is a cudaError_t.
struct Driver {
  using Module = struct CUmod_st*;
  using Function = struct CUfunc_st*;

  std::vector<ProgramCache::Cubin> (*compile)(std::span<const std::string> sources, int architecture);
  int (*load)(Module*, const void* image);
  int (*unload)(Module);
  int (*find)(Function*, Module, const char* name);
  int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream_st*, void**,
                void**);
  /// cuBLASLt's functions; null where it is not installed, or not wanted.
  const CublasLt::Functions* (*products)();
};

/// The installed one, for the rest of the program. Throws Error(state) where there is none.
const Driver& driver();

}  // namespace etude::cuda
