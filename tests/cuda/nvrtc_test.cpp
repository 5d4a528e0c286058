#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "etude/base/detail/crc32c.hpp"
#include "etude/graph/detail/op.hpp"
#include "gpu_samples.hpp"
#include "op_cases.hpp"
#include "support.hpp"

// NVRTC's code for programs. Needs no GPU.

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

TEST_CASE("a product loads sixteen bytes at a time, and has a form for unaligned operands", "[.][nvrtc]") {
  Cuda device("/gpu:0", std::make_unique<CountingRuntime>());
  const std::array factors{waves({8, 64}), waves({12, 64})};
  evaluate(device, factors,
           [](std::span<const Value> x) { return std::vector{ops::matmul(x[0], ops::transpose(x[1], {1, 0}))}; });
  const std::vector<std::string>& sources = static_cast<CountingRuntime&>(device.runtime()).sources;
  REQUIRE(sources.size() == 1);
  const MemoryAccesses accesses = memory_accesses(cuda::ptx_of(sources[0], 90));
  CHECK(accesses.wide_loads >= 2);
  CHECK(accesses.loads - accesses.wide_loads == 4 * accesses.wide_loads);  // the same numbers, one at a time
  CHECK(accesses.stores == 4);
}

namespace {

/// The programs of `work` on a GPU.
template <class Work> void add_programs(std::vector<std::string>& sources, const Work& work) {
  Cuda device("/gpu:0", std::make_unique<CountingRuntime>());
  work(device);
  const std::vector<std::string>& own = static_cast<CountingRuntime&>(device.runtime()).sources;
  sources.insert(sources.end(), own.begin(), own.end());
}

void add_programs(std::vector<std::string>& sources, std::span<const Tensor> inputs,
                  const testing::Function& function) {
  add_programs(sources, [&](Cuda& device) { testing::run_on(device, inputs, function); });
}

/// The programs that take most of the time of trainings, and those with the most registers.
std::vector<std::string> hot_programs() {
  std::vector<std::string> sources;
  add_programs(sources, std::array{waves({8, 64}), waves({12, 64})},
               [](std::span<const Value> x) { return ops::matmul(x[0], ops::transpose(x[1], {1, 0})); });
  add_programs(sources, std::array{waves({4, 512})}, [](std::span<const Value> x) { return ops::softmax(x[0]); });
  std::vector<Tensor> many;
  for (int i = 0; i < 63; ++i) many.push_back(waves({9}, 0.1 * i));
  add_programs(sources, many, [](std::span<const Value> x) {
    Value product = x[0];
    for (const Value& value : x.subspan(1)) product = product * value + value;
    return product;
  });
  std::vector<std::string> of_adam;
  add_programs(of_adam, [](Cuda& device) { trained(kinds[2], std::make_shared<OneDeviceStrategy>(device)); });
  std::ranges::copy_if(of_adam, std::back_inserter(sources),
                       [](const std::string& source) { return source.find("op::Sqrt") != source.npos; });
  return sources;
}

/// Every program of ops and of trainings.
std::vector<std::string> all_programs() {
  std::vector<std::string> sources;
  add_programs(sources, [](Cuda& device) {
    for (const testing::OpCase& one : testing::all_cases())
      for (const DType dtype : {DType::float32, DType::float64})
        testing::run_on(device, one.draw(6, dtype), one.function);
    for (const Kind& kind : kinds) trained(kind, std::make_shared<OneDeviceStrategy>(device));
  });
  return sources;
}

/// The libraries in ETUDE_NVRTC_LIBRARIES, in the format of PATH.
std::vector<std::string> nvrtc_libraries() {
  const char* const listed = std::getenv("ETUDE_NVRTC_LIBRARIES");
  std::istringstream text(listed ? listed : "");
  std::vector<std::string> libraries;
  for (std::string library; std::getline(text, library, ':');) libraries.push_back(library);
  return libraries;
}

}  // namespace

/// Hot programs for all GPUs; a tenth of the others for one GPU. With ETUDE_CAMPAIGN=long all programs for all GPUs.
TEST_CASE("programs compile by each NVRTC for each GPU, and spill no register", "[.][nvrtc]") {
  const std::vector<std::string> libraries = nvrtc_libraries();
  if (libraries.empty()) SKIP("ETUDE_NVRTC_LIBRARIES names no NVRTC");
  const char* const campaign = std::getenv("ETUDE_CAMPAIGN");
  const bool all = campaign != nullptr && std::string_view(campaign) == "long";
  const std::vector<std::string> hot = hot_programs();
  CHECK(hot.size() >= 4);
  std::vector<std::string> others;
  for (const std::string& source : all_programs())
    if (all || crc32c(source) % 10 == 0) others.push_back(source);
  for (const std::string& library : libraries)
    for (const int architecture : {80, 86, 89, 90, 100, 120}) {
      INFO(library << ", " << architecture);
      check_nvrtc_compiles(hot, architecture, library);
      if (all || architecture == 90) check_nvrtc_compiles(others, architecture, library);
    }
}

}  // namespace etude
