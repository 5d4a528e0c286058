#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"

namespace etude::cuda {

struct Gpu {
  int ordinal;  ///< as CUDA counts them
  std::string model;
};

/// The GPUs of this machine that Étude can compute on. Where there are none, or fewer than one might think, `why` says
/// why.
std::vector<Gpu> find_gpus(std::string& why);

/// One of them. `tf32`: whether factors of products in float32 may be rounded to 11 digits, which is faster. Throws
/// Error(state) where it cannot be used.
std::unique_ptr<Runtime> open_gpu(int ordinal, bool tf32 = false);

}  // namespace etude::cuda
