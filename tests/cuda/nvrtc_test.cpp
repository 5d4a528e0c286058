#include <array>
#include <catch2/catch_test_macros.hpp>

#include "gpu_samples.hpp"

// What NVRTC makes of programs. It needs no GPU.

namespace etude {

using namespace samples;

TEST_CASE("accesses of PTX are counted by their width", "[cuda]") {
  const MemoryAccesses counted = memory_accesses(
      "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
      "\tld.global.f32 %f5, [%rd2];\n\tld.global.v2.u64 {%rd3, %rd4}, [%rd5];\n"
      "@%p1 st.global.v4.b16 [%rd6], {%rs1, %rs2, %rs3, %rs4};\n\tst.global.v4.u32 [%rd6], {%r1, %r2, %r3, %r4};\n"
      "ld.param.u64 %rd7, [arguments];\n\tst.shared.v4.f32 [%r5], {%f1, %f2, %f3, %f4};\n");
  CHECK(counted.loads == 3);
  CHECK(counted.wide_loads == 2);
  CHECK(counted.stores == 2);
  CHECK(counted.wide_stores == 1);
}

TEST_CASE("a product by fours reads sixteen bytes at a time", "[.][nvrtc]") {
  Cuda device("/gpu:0", std::make_unique<CountingRuntime>());
  const std::array factors{waves({8, 64}), waves({12, 64})};
  evaluate(device, factors,
           [](std::span<const Value> x) { return std::vector{ops::matmul(x[0], ops::transpose(x[1], {1, 0}))}; });
  const std::vector<std::string>& sources = static_cast<CountingRuntime&>(device.runtime()).sources;
  REQUIRE(sources.size() == 1);
  const MemoryAccesses accesses = memory_accesses(cuda::ptx_of(sources[0], 90));
  CHECK(accesses.wide_loads >= 2);
  CHECK(accesses.wide_loads == accesses.loads);
  CHECK(accesses.stores == 1);
}

}  // namespace etude
