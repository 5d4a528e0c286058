#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"

namespace etude::cuda {

/// The GPUs of this machine that Étude can compute on, by model. Where there are none, `why` says why.
std::vector<std::string> gpu_models(std::string& why);

/// One of them, as "/gpu:<index>". Throws Error(state) where it cannot be used.
std::unique_ptr<Runtime> open_gpu(int index);

}  // namespace etude::cuda
