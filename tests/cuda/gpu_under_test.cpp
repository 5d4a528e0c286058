#include "cuda/gpu_runtime.hpp"
#include "runtime_under_test.hpp"

namespace etude::testing {

std::unique_ptr<cuda::Runtime> runtime_under_test() { return cuda::open_gpu(0); }

}  // namespace etude::testing
