#pragma once

#include <memory>

#include "fake_cuda.hpp"
#include "gpu_samples.hpp"

namespace etude::testing {

/// A GPU with the runtime of real GPUs.
struct FakeGpu {
  explicit FakeGpu(const CudaOptions& options = {})
      : device("/gpu:0", std::make_unique<CountingRuntime>(fake::runtime()), options) {}
  Cuda device;
  StrategyPtr strategy = std::make_shared<OneDeviceStrategy>(device);
  CountingRuntime& runtime() { return static_cast<CountingRuntime&>(device.runtime()); }
};

}  // namespace etude::testing
