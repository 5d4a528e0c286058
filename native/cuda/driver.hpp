#pragma once

#include <span>
#include <string>
#include <vector>

#include "cuda/program_cache.hpp"

struct CUstream_st;

namespace etude::cuda {

/// How programs come to a GPU: NVRTC compiles them, NVIDIA's driver loads and launches them. Source: cuda.h, of which
/// the functions are; what they return is a cudaError_t.
struct Driver {
  using Module = struct CUmod_st*;
  using Function = struct CUfunc_st*;

  std::vector<ProgramCache::Cubin> (*compile)(std::span<const std::string> sources, int architecture);
  int (*load)(Module*, const void* image);
  int (*unload)(Module);
  int (*find)(Function*, Module, const char* name);
  int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream_st*, void**,
                void**);
};

/// The installed one, for the rest of the program. Throws Error(state) where there is none.
const Driver& driver();

}  // namespace etude::cuda
