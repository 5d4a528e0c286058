#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "cuda/nccl_workers.hpp"
#include "gpu_samples.hpp"

// The installed NCCL on a GPU, by class NcclWorkers. tests/gloo/nccl_workers_test.cpp has several processes, and a fake
// NCCL.
namespace etude {

using namespace samples;

namespace {

/// One process.
class Alone : public Workers {
 public:
  std::string_view name() const override { return "alone"; }
  int rank() const override { return 0; }
  int count() const override { return 1; }
  void all_reduce(std::span<const ReplicaSum>) override {}
  void broadcast(std::span<std::byte>) override {}
  void all_gather(std::span<const std::byte> own, std::span<const std::size_t>, std::byte* all) override {
    std::ranges::copy(own, all);
  }
  using Workers::all_gather;
};

}  // namespace

TEST_CASE("NCCL connects the GPU of one process, sums it, and ends", "[cuda][nccl]") {
  Gpu gpu;
  if (gpu.runtime().model() == "host") SKIP("no GPU");
  try {
    cuda::NcclWorkers::installed();
  } catch (const Error& none) {
    SKIP(none.what());
  }
  const std::vector<float> numbers{1, 2, 4};
  constexpr std::size_t bytes = 3 * sizeof(float);
  std::byte* const part = gpu.runtime().allocate(bytes);
  std::byte* const sum = gpu.runtime().allocate(bytes);
  const ReplicaSum value{DType::float32, 3, {part}, {sum}};
  {
    cuda::NcclWorkers nccl(cuda::NcclWorkers::installed, gpu.runtime(), std::make_shared<Alone>());
    for (int round = 1; round <= 3; ++round) {
      std::vector<float> own = numbers, got(3);
      for (float& each : own) each *= static_cast<float>(round);
      gpu.runtime().upload(part, own.data(), bytes);
      nccl.start(std::span(&value, 1), 0);
      nccl.await(0, 0);
      gpu.runtime().download(got.data(), sum, bytes);
      CHECK(got == own);
    }
    nccl.all_reduce(std::span(&value, 1));
  }
  gpu.runtime().release(part);
  gpu.runtime().release(sum);
}

}  // namespace etude
