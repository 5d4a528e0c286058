#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>

#include "fake_cuda.hpp"
#include "gpu_samples.hpp"
#include "training_samples.hpp"

// Processes whose sums go through the host, on a GPU with a fake CUDA, which throws if the host waits for work that is
// being recorded.
namespace etude {
namespace {

using namespace samples;
namespace fake = testing::fake;

/// Two processes, of which the other one has the same numbers as this one, of rank 0.
class Twins : public Workers {
 public:
  explicit Twins(std::size_t bucket_bytes) : bucket_bytes_(bucket_bytes) {}
  std::string_view name() const override { return "twins"; }
  int rank() const override { return 0; }
  int count() const override { return 2; }
  void all_reduce(std::span<const ReplicaSum> bucket) override {
    for (const ReplicaSum& value : bucket)
      visit_dtype(value.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < value.count; ++i) {
          T one;
          std::memcpy(&one, value.parts.front() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
          const T sum = static_cast<T>(one + one);
          std::memcpy(value.sums.front() + static_cast<std::size_t>(i) * sizeof(T), &sum, sizeof(T));
        }
      });
  }
  std::size_t bucket_bytes() const override { return bucket_bytes_; }
  void broadcast(std::span<std::byte>) override {}
  void all_gather(std::span<const std::byte> own, std::span<const std::size_t> sizes, std::byte* all) override {
    for (const std::size_t size : sizes) {
      std::memcpy(all, own.data(), std::min(size, own.size()));
      all += size;
    }
  }
  using Workers::all_gather;

 private:
  std::size_t bucket_bytes_;
};

}  // namespace

TEST_CASE("staged sums: the work between sums is recorded, with the bits of queued work", "[cuda]") {
  const std::size_t bucket_bytes = GENERATE(std::size_t{0}, std::size_t{1});
  CAPTURE(bucket_bytes);
  const auto weights = [&](bool record, int& graphs) {
    Cuda device("/gpu:0", std::make_unique<CountingRuntime>(fake::runtime()), {.record = record});
    Device& usual = default_device();
    set_default_device(device);
    const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(std::make_shared<Twins>(bucket_bytes));
    set_default_device(usual);
    const auto model = trained(kinds[0], strategy);
    graphs = static_cast<CountingRuntime&>(device.runtime()).counts.graphs;
    return weights_of(*model);
  };
  int recorded = 0, queued = 0;
  const std::vector<double> a = weights(true, recorded), b = weights(false, queued);
  CHECK(a == b);
  CHECK(recorded > 0);
  CHECK(queued == 0);
  Device& usual = default_device();
  const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(std::make_shared<Twins>(bucket_bytes));
  CHECK(&strategy->device(0) == &usual);
  const std::vector<double> on_host = weights_of(*trained(kinds[0], strategy));
  REQUIRE(on_host.size() == a.size());
  double farthest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) farthest = std::max(farthest, std::abs(a[i] - on_host[i]));
  CHECK(farthest < 1e-5);
}

}  // namespace etude
