#include <stdexcept>

#include "cuda/gpu_runtime.hpp"
#include "runtime_under_test.hpp"

namespace etude::testing {
namespace {

const std::vector<cuda::Gpu>& gpus() {
  static const std::vector<cuda::Gpu> found = [] {
    std::string why;
    std::vector<cuda::Gpu> all = cuda::find_gpus(why);
    if (all.empty()) throw std::runtime_error(why);
    return all;
  }();
  return found;
}

}  // namespace

std::unique_ptr<cuda::Runtime> runtime_under_test(int number) {
  return cuda::open_gpu(gpus().at(static_cast<std::size_t>(number)).ordinal);
}

std::unique_ptr<cuda::Runtime> convolving_runtime_under_test() { return runtime_under_test(); }

int gpus_under_test() { return static_cast<int>(gpus().size()); }

const cuda::Nccl::Functions& nccl_under_test() { return cuda::Nccl::installed(); }

}  // namespace etude::testing
