#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cuda/cuda.hpp"
#include "cuda/program_compiler.hpp"
#include "etude/graph/detail/op.hpp"
#include "gpu_samples.hpp"
#include "op_cases.hpp"
#include "runtime_under_test.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

/// The tolerance for sums of another order, and for functions of another library.
constexpr Tolerance between_devices(DType dtype) {
  // A sum on the other side of a midpoint is rounded to the neighbouring number.
  if (is_half(dtype)) return dtype == DType::float16 ? Tolerance{2e-3, 2e-3} : Tolerance{2e-2, 2e-2};
  return dtype == DType::float64 ? Tolerance{1e-13, 1e-12} : Tolerance{2e-6, 1e-5};
}

/// Ops that keep half precision; all others are computed in float32, between casts.
std::vector<OpCase> half_cases() {
  constexpr std::array keeping{
      "Cast",        "Broadcast",        "Transpose",         "Slice", "Reverse", "Concatenate", "MatMul",
      "Convolution", "ConvolutionInput", "ConvolutionFilter", "Scan"};
  std::vector<OpCase> cases;
  for (const OpEntry& entry : op_table())
    if (std::ranges::find(keeping, entry.name) != keeping.end())
      cases.insert(cases.end(), entry.cases.begin(), entry.cases.end());
  return cases;
}

Cuda& gpu() {
  static Cuda device("/gpu:0", std::make_unique<CountingRuntime>());
  return device;
}

void check_parity(const std::vector<OpCase>& cases, std::initializer_list<DType> dtypes, Cuda& gpu = ::gpu()) {
  for (const OpCase& one : cases)
    for (const DType dtype : dtypes) {
      INFO(one.name << ", " << dtype);
      const std::vector<Tensor> x = one.draw(6, dtype);
      CHECK(difference(run_on(gpu, x, one.function), run_on(cpu_device(), x, one.function), between_devices(dtype)) ==
            "");
    }
}

}  // namespace

TEST_CASE("a GPU matches the processor, for every op", "[cuda][parity]") {
  check_parity(all_cases(), {DType::float32, DType::float64});
}

TEST_CASE("a GPU computes a sum of 600 tensors, more than a kernel has arguments", "[cuda][parity]") {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 600; ++i) inputs.push_back(samples::waves({7}, 0.1 * i));
  const auto sum = [](std::span<const Value> values) {
    Value total = values[0];
    for (const Value& value : values.subspan(1)) total = total + value;
    return total;
  };
  CHECK(difference(run_on(gpu(), inputs, sum), run_on(cpu_device(), inputs, sum), {0, 0}) == "");
}

TEST_CASE("a GPU matches the processor, for extents of 0", "[cuda][parity][zero]") {
  std::vector<OpCase> taken;
  for (const OpCase& one : cases_without_elements())
    if (!kind_of([&] { run_on(cpu_device(), one.draw(6, DType::float32), one.function); })) taken.push_back(one);
  CHECK(taken.size() > 300);
  check_parity(taken, {DType::float32, DType::float64});
}

TEST_CASE("a GPU matches the processor, in half precision", "[cuda][parity]") {
  check_parity(half_cases(), {DType::float16, DType::bfloat16});
}

TEST_CASE("a GPU computes the same products by separate kernels and by programs", "[cuda][parity]") {
  Cuda kernels("/gpu:0", std::make_unique<CountingRuntime>(), {.most_work_of_programs = 0});
  for (const OpEntry& entry : op_table())
    if (entry.name == "MatMul")
      check_parity(entry.cases, {DType::float32, DType::float64, DType::float16, DType::bfloat16}, kernels);
}

TEST_CASE("rows are gathered from the position in a counter, if there is one", "[cuda][parity]") {
  const std::vector<std::int32_t> numbers{2, 9, 9, 1, 0, 2, 10, 20, 30};  // the counter, indices, and the table
  for (Device* device : {static_cast<Device*>(&gpu()), &cpu_device()}) {
    const auto memory = device->allocate(4 * (numbers.size() + 3));
    memory->write(0, numbers.data(), 4 * numbers.size());
    const auto at = [](std::int64_t index) { return Operand{0, 4 * index, DType::int32}; };
    const std::array addresses{memory->address()};
    device->run(
        instruction::Gather{
            .count = 3, .width = 1, .rows = 3, .table = at(6), .indices = at(1), .out = at(9), .first = at(0)},
        addresses);
    std::vector<std::int32_t> gathered(3);
    memory->read(4 * numbers.size(), gathered.data(), 12);
    CHECK(gathered == std::vector{20, 10, 30});
  }
}

TEST_CASE("segments with equal accesses are one launch, up to the size of its arguments", "[cuda][parity]") {
  using namespace instruction;
  constexpr std::int64_t segments = 120;
  const auto size = [](std::int64_t segment) { return segment * 37 % 700; };  // none, of one block, and of several
  std::vector<float> numbers;
  for (int i = 0; i < 3 * 700 * segments; ++i) numbers.push_back(static_cast<float>(i % 101) / 8);
  const auto place = [](std::int64_t segment, std::int64_t operand) {
    return Operand{0, 4 * 700 * (3 * segment + operand)};
  };
  Elementwise sums{};
  sums.program = {.inputs = {{Lane::float32}, {Lane::float32}},
                  .immediates = {},
                  .steps = {{opcode_of<op::Add>(), Lane::float32, Lane::float32, 2, 0, 1, 1}},
                  .outputs = {{2}},
                  .registers = 3};
  for (std::int64_t segment = 0; segment < segments; ++segment)
    sums.segments.push_back({size(segment), {{place(segment, 0)}, {place(segment, 1)}}, {{place(segment, 2)}}});
  sums.segments[50].inputs[1].kind = Access::Kind::scalar;

  const auto storage = gpu().allocate(numbers.size() * sizeof(float));
  storage->write(0, numbers.data(), numbers.size() * sizeof(float));
  auto& counts = static_cast<CountingRuntime&>(gpu().runtime()).counts;
  const int before = counts.programs;
  gpu().run(sums, std::array{storage->address()});
  CHECK(counts.programs - before == 3);  // 50, the different one, and the 69 after it

  std::vector<float> expected = numbers;
  for (std::int64_t segment = 0; segment < segments; ++segment) {
    float* const x = expected.data() + 3 * 700 * segment;
    for (std::int64_t i = 0; i < size(segment); ++i) x[1400 + i] = x[i] + x[700 + (segment == 50 ? 0 : i)];
  }
  storage->read(0, numbers.data(), numbers.size() * sizeof(float));
  CHECK(numbers == expected);

  sums.segments[50].inputs[1].kind = Access::Kind::contiguous;
  gpu().run(sums, std::array{storage->address()});
  CHECK(counts.programs - before == 5);  // 102 of them fit in 4 KB
}

TEST_CASE("programs and kernels flush denormals of float32, in a plan, outside and in a recorded graph",
          "[cuda][parity][denormals]") {
  // As an operand, or as a result: 2^-130 · 2^80, and 2^-70 · 2^-60.
  const std::vector<float> numbers{0x1p-130f, 0x1p-70f, 0x1p80f, 0x1p-60f, 0, 0};
  const auto at = [](std::int64_t index) { return Operand{0, 4 * index, DType::float32}; };
  const auto check_zeros = [&](Cuda& device, const auto& instruction) {
    const auto memory = device.allocate(4 * numbers.size());
    memory->write(0, numbers.data(), 4 * numbers.size());
    const std::array addresses{memory->address()};
    std::unique_ptr<Device::Recording> recording;
    for (int run = 0; run < 3; ++run) {  // the second one is recorded
      constexpr std::array ones{1.0f, 1.0f};
      memory->write(4 * 4, ones.data(), sizeof ones);
      device.replay([&] { device.run(instruction, addresses); }, addresses, recording);
      std::array<float, 2> made{};
      memory->read(4 * 4, made.data(), sizeof made);
      CHECK(made == std::array{0.0f, 0.0f});
    }
  };
  instruction::Elementwise products{};
  products.program = {.inputs = {{instruction::Lane::float32}, {instruction::Lane::float32}},
                      .immediates = {},
                      .steps = {{instruction::opcode_of<op::Multiply>(), instruction::Lane::float32,
                                 instruction::Lane::float32, 2, 0, 1, 1}},
                      .outputs = {{2}},
                      .registers = 3};
  products.segments.push_back({2, {{at(0)}, {at(2)}}, {{at(4)}}});
  check_zeros(gpu(), products);
  // Two batches of one multiplication, by the program and by the kernel.
  const instruction::Gemm gemm{.m = 1,
                               .n = 1,
                               .k = 1,
                               .batch = {2},
                               .a = {at(0), 1, false, {1}},
                               .b = {at(2), 1, false, {1}},
                               .c = {at(4), 1, false, {1}},
                               .workspace = {-1},
                               .epilogue = {}};
  check_zeros(gpu(), gemm);
  Cuda kernels("/gpu:0", std::make_unique<CountingRuntime>(), {.most_work_of_programs = 0});
  if (kernels.workspace(gemm) == 0) check_zeros(kernels, gemm);  // otherwise it is the vendor's product
}

TEST_CASE("programs contract nothing and compute without denormals in float32", "[.][nvrtc]") {
  Cuda device("/gpu:0", std::make_unique<CountingRuntime>());
  const auto ptx_of = [&](DType dtype) {
    const std::vector<Tensor> x(3, Tensor::from({5}, {1, 2, 3, 4, 5}).astype(dtype));
    run_on(device, x, [](std::span<const Value> v) { return v[0] * v[1] + v[2] / v[1]; });
    return cuda::ptx_of(static_cast<CountingRuntime&>(device.runtime()).sources.back(), 90);
  };
  const std::string narrow = ptx_of(DType::float32), wide = ptx_of(DType::float64);
  for (const char* wanted : {"mul.rn.ftz.f32", "add.rn.ftz.f32", "div.rn.ftz.f32"})
    CHECK_THAT(narrow, Catch::Matchers::ContainsSubstring(wanted));
  for (const char* wanted : {"mul.rn.f64", "add.rn.f64"}) CHECK_THAT(wide, Catch::Matchers::ContainsSubstring(wanted));
  for (const std::string& ptx : {narrow, wide}) CHECK_THAT(ptx, !Catch::Matchers::ContainsSubstring("fma"));
  for (const char* option : {"--fmad=false", "--ftz=true"})  // other options give other cubins
    CHECK_THAT(cuda::compiler_version(), Catch::Matchers::ContainsSubstring(option));
}

TEST_CASE("every program of an op compiles for GPUs of compute capability 9.0", "[.][nvrtc]") {
  Cuda device("/gpu:0", std::make_unique<CountingRuntime>());
  for (const OpCase& one : all_cases())
    for (const DType dtype : {DType::float32, DType::float64}) run_on(device, one.draw(6, dtype), one.function);
  for (const OpCase& one : half_cases())
    for (const DType dtype : {DType::float16, DType::bfloat16}) run_on(device, one.draw(6, dtype), one.function);
  const auto& sources = static_cast<CountingRuntime&>(device.runtime()).sources;
  CHECK(sources.size() > 100);
  samples::check_nvrtc_compiles(sources, 90);
}
