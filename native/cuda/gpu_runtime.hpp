#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"

namespace etude::cuda {

struct Gpu {
  int ordinal;  ///< its number in CUDA
  std::string model;
};

/// The GPUs of this machine that Étude supports. If there are none, or fewer than expected, `why` is the reason.
std::vector<Gpu> find_gpus(std::string& why);

/// Opens one of them. `tf32`: whether factors of products in float32 may be rounded to 11 digits, which is faster.
/// Throws Error(state) if it cannot be used.
std::unique_ptr<Runtime> open_gpu(int ordinal, bool tf32 = false);

}  // namespace etude::cuda
