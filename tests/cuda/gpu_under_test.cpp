#include <stdexcept>

#include "cuda/gpu_runtime.hpp"
#include "runtime_under_test.hpp"

namespace etude::testing {

std::unique_ptr<cuda::Runtime> runtime_under_test() {
  std::string why;
  const std::vector<cuda::Gpu> gpus = cuda::find_gpus(why);
  if (gpus.empty()) throw std::runtime_error(why);
  return cuda::open_gpu(gpus.front().ordinal);
}

}  // namespace etude::testing
