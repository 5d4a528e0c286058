#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <optional>

#include "checkpoint_samples.hpp"
#include "cuda/gpu_runtime.hpp"
#include "fake_cuda.hpp"
#include "fake_gpu.hpp"
#include "gpu_samples.hpp"
#include "host_cudnn.hpp"
#include "mirrored_samples.hpp"
#include "support.hpp"

// CUDA calls that fail. Only on the host, on a fake CUDA.
namespace etude {

using namespace samples;
namespace fake = testing::fake;
using Catch::Matchers::ContainsSubstring;
using testing::FakeGpu;

namespace {

/// A training with failing CUDA calls. The quick form of the campaign has the first one.
struct Attempt {
  const Kind* kind = &kinds.front();
  std::int64_t steps_per_execution = 1;
  bool resident = true;
  int replicas = 1;
  /// By cuBLASLt, whose algorithms are measured. So are cuDNN's, which are slower than ours: the bits are the same, for
  /// any algorithm that a fault excludes.
  bool by_vendor = false;

  std::vector<double> weights(FakeGpu& gpu) const {
    if (!resident) gpu.runtime().room = 0;
    const auto strategy =
        replicas == 1 ? gpu.strategy
                      : std::make_shared<MirroredStrategy>(MirroredOptions{.devices = {gpu.device, gpu.device}});
    return weights_of(*trained(*kind, strategy, {.batch_size = replicas == 1 ? 4 : 11}, steps_per_execution));
  }
  CudaOptions options() const {
    fake::has_products() = fake::has_convolutions() = by_vendor;
    testing::host_cudnn::library() = {.milliseconds = 50};
    fake::choices() = by_vendor ? std::make_shared<cuda::Choices>("fake") : nullptr;
    return by_vendor ? CudaOptions{.most_work_of_programs = 0} : CudaOptions{};
  }
};

const bool is_long = testing::rounds(0, 1) == 1;

std::vector<Attempt> trainings() {
  std::vector<Attempt> all;
  for (const Kind& kind : kinds)
    for (const std::int64_t steps : {1, 3})
      for (const bool resident : {true, false})
        for (const int replicas : {1, 2})
          for (const bool by_vendor : {false, true}) all.push_back({&kind, steps, resident, replicas, by_vendor});
  if (!is_long) all = {{}, {.by_vendor = true}, {.kind = &kinds[1], .by_vendor = true}};
  return all;
}

/// The next call to fail: each call in the long form. `usual`: with the most revealing fault.
std::int64_t after(std::int64_t call, const Attempt& training, bool usual) {
  if (is_long) return call + 1;
  if (training.by_vendor) return call + (training.kind == &kinds.front() ? 41 : 173);
  return call + (usual ? (call < 40 ? 1 : 7) : 41);
}

}  // namespace

TEST_CASE("a CUDA call that fails once ends the training with an Error, and the next training is bit-exact",
          "[cuda][gpu_runtime][reliability]") {
  using fake::Fault;
  for (const Attempt& training : trainings()) {
    const std::vector<double> expected = [&] {
      FakeGpu sound(training.options());
      return training.weights(sound);
    }();
    for (const Fault fault : {Fault::no_memory, Fault::out_of_resources, Fault::invalid_value}) {
      const bool usual = fault == Fault::no_memory;
      bool failed = true;
      for (std::int64_t call = 1; failed; call = after(call, training, usual)) {
        CAPTURE(training.kind->name, training.by_vendor, training.replicas, static_cast<int>(fault), call);
        const fake::Alive before = fake::alive();
        {
          fake::fail_call(call, fault);
          std::optional<FakeGpu> gpu;
          std::vector<double> weights = expected;
          try {
            gpu.emplace(training.options());
            weights = training.weights(*gpu);
          } catch (const Error& error) {
            CAPTURE(error.what());
            if (fault == Fault::no_memory) {
              CHECK(error.kind() == ErrorKind::state);
              CHECK_THAT(error.what(), ContainsSubstring(" are free - expected "));
            } else if (gpu) {
              CHECK(error.kind() == ErrorKind::internal);
            }
          }
          CHECK(weights == expected);
          failed = fake::has_failed();
          fake::fail_call(0);
          if (gpu) CHECK(training.weights(*gpu) == expected);
        }
        CHECK(fake::alive() == before);
      }
    }
  }
  static_cast<void>(Attempt().options());  // without a vendor again
}

TEST_CASE("the error of a lost GPU names the first call that failed, and does not end the program",
          "[cuda][gpu_runtime][reliability]") {
  using fake::Fault;
  for (const Attempt& training : trainings())
    for (const Fault fault : {Fault::lost, Fault::lost_in_queue}) {
      const bool usual = fault == Fault::lost;
      bool failed = true;
      for (std::int64_t call = 1; failed; call = after(call, training, usual)) {
        CAPTURE(training.kind->name, training.by_vendor, training.replicas, static_cast<int>(fault), call);
        const fake::Alive before = fake::alive();
        fake::fail_call(call, fault);
        std::optional<FakeGpu> gpu;
        const auto train = [&] {
          if (!gpu) gpu.emplace(training.options());
          training.weights(*gpu);
        };
        std::string first = testing::error_of(train);
        failed = fake::has_failed();
        if (failed) {
          if (first == "no error") first = testing::error_of(train);  // it was lost after the last work
          CHECK_THAT(first, ContainsSubstring("failed: an illegal memory access was encountered, first by "));
          CHECK_THAT(testing::error_of(train),
                     ContainsSubstring(first.substr(std::min(first.find(", first"), first.size()))));
        }
        gpu.reset();
        fake::fail_call(0);
        CHECK(fake::alive() == before);
      }
    }
  static_cast<void>(Attempt().options());  // without a vendor again
}

}  // namespace etude
