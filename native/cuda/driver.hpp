#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/choices.hpp"
#include "cuda/cublas_lt.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/program_cache.hpp"

struct CUstream_st;

namespace etude::cuda {

/// Libraries that are loaded on demand: NVRTC compiles programs, NVIDIA's driver loads and launches them, cuBLASLt
/// multiplies, cuDNN convolves. Source: cuda.h, for the driver's functions; they return a cudaError_t.
struct Driver {
  using Module = struct CUmod_st*;
  using Function = struct CUfunc_st*;

  std::vector<ProgramCache::Cubin> (*compile)(std::span<const std::string> sources, int architecture);
  int (*load)(Module*, const void* image);
  int (*unload)(Module);
  int (*find)(Function*, Module, const char* name);
  int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream_st*, void**,
                void**);
  int (*version)(int*);  ///< the newest CUDA that it supports
  /// cuBLASLt's functions; null if it is not installed, or switched off.
  const CublasLt::Functions* (*products)();
  /// The same of cuDNN.
  const Cudnn::Functions* (*convolutions)();
  /// The measured choices on GPUs of a model; null if that is switched off, or cannot be kept for later processes.
  std::shared_ptr<Choices> (*choices)(const std::string& model);
};

/// The installed driver, until the program ends. Throws Error(state) if there is none.
const Driver& driver();

}  // namespace etude::cuda
