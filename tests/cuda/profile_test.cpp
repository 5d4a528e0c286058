#include "cuda/profile.hpp"
#include "etude/graph/detail/op.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "environment_variable.hpp"
#include "fake_cuda.hpp"
#include "gpu_samples.hpp"
#include "training_samples.hpp"

// Only on the host: CUDA is a fake, in which every queued item takes a millisecond.
namespace etude {

using namespace samples;
namespace fake = testing::fake;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

class NoFile : public FileSink {
 public:
  bool empty() const override { return true; }
  void append(std::string_view) override {}
  void flush() override {}
};

}  // namespace

TEST_CASE("a profile lists calls and times of the GPU by name, the longest first", "[cuda]") {
  const std::unique_ptr<cuda::Runtime> gpu = fake::runtime();
  std::byte* const memory = gpu->allocate(64);
  const int events = fake::alive().events;
  const auto queue = [&](int copies) {
    for (int i = 0; i < copies; ++i) gpu->copy(memory, memory + 32, 32);
  };
  {
    cuda::Profile profile;
    for (int i = 0; i < 5000; ++i) {  // more than are timed at a time
      const cuda::Profile::Span span(&profile, "short", gpu->stream());
      queue(1);
    }
    queue(7);  // in no span
    for (int i = 0; i < 2; ++i) {
      const cuda::Profile::Span span(&profile, "long", gpu->stream());
      queue(7500);
    }
    CHECK(profile.table() ==
          "  share    calls         us    us each  kernel\n"
          "  75.0%        2   15000000 7500000.00  long\n"
          "  25.0%     5000    5000000    1000.00  short\n");
    CHECK(fake::alive().events - events <= 8192);
    const cuda::Profile::Span nothing(nullptr, "none", gpu->stream());
  }
  CHECK(fake::alive().events == events);
  gpu->release(memory);
}

TEST_CASE("programs have distinct names by their text, with the ops in it", "[cuda]") {
  const std::string name =
      cuda::Profile::program_name("float s0 = op::Multiply::apply(x0, x1); float s1 = op::Add::apply(s0, x1);");
  CHECK_THAT(name, StartsWith("program ") && ContainsSubstring(": Multiply Add"));
  CHECK(cuda::Profile::program_name("op::Multiply::apply(x0, x1); op::Add::apply(s0, x2);") != name);
}

TEST_CASE("ETUDE_PROFILE=1 times each kernel and program of a training, without a change of bits", "[cuda]") {
  const auto weights = [](bool profiled) {
    const testing::EnvironmentVariable variable("ETUDE_PROFILE", profiled ? "1" : nullptr);
    Cuda device("/gpu:0", std::make_unique<CountingRuntime>(fake::runtime()));
    const auto model = trained(kinds[0], std::make_shared<OneDeviceStrategy>(device));
    const CountingRuntime::Counts& counts = static_cast<CountingRuntime&>(device.runtime()).counts;
    CHECK((counts.graphs == 0) == profiled);
    const std::string table = cuda::Profile::tables();
    CHECK(table.empty() == !profiled);
    if (profiled) CHECK_THAT(table, ContainsSubstring("uniform\n") && ContainsSubstring("program "));
    return weights_of(*model);
  };
  CHECK(weights(true) == weights(false));
}

TEST_CASE("the profiler's steps and instructions are ranges of NVTX on a GPU", "[cuda]") {
  Cuda device("/gpu:0", std::make_unique<CountingRuntime>(fake::runtime()));
  fake::ranges() = {};
  const auto profiler = callbacks::profiler(
      {.filepath = "trace.json", .profiling_start = 1, .profiling_end = 2, .open = [](const std::string&, bool) {
         return std::make_unique<NoFile>();
       }});
  const auto model = trained(kinds[0], std::make_shared<OneDeviceStrategy>(device), {.callbacks = {profiler}});
  const auto& [begun, open] = fake::ranges();
  CHECK(open.empty());
  const auto count = [&](const std::string& path) { return std::ranges::count(begun, path); };
  CHECK(count("epoch") >= 1);
  CHECK(count("epoch/step") == 1);
  CHECK(count("epoch/step/run") == 1);
  CHECK(count("epoch/step/run/Gemm") >= 1);
  fake::ranges() = {};
  trained(kinds[0], std::make_shared<OneDeviceStrategy>(device));
  CHECK(fake::ranges().begun.empty());
}

}  // namespace etude
