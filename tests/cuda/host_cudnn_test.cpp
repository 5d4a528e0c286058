#include "host_cudnn.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "convolution_samples.hpp"
#include "cuda/cuda.hpp"
#include "etude/base/memory_vfs.hpp"
#include "etude/execution/window_shapes.hpp"
#include "etude/kernels/cpu/cpu_device.hpp"
#include "host_cudnn_runtime.hpp"
#include "op_entries.hpp"
#include "support.hpp"

// Convolutions by the fake cuDNN, or by our kernels if those are faster. Only on the host.

namespace etude {
namespace {

using namespace samples;
using namespace testing;
using cuda::Choices;
using cuda::ConvolutionPass;
using cuda::Cudnn;
using host_cudnn::Computed;
using host_cudnn::library;
using All = std::vector<Computed>;

constexpr int internal_error = 4000, no_memory = 4004;
constexpr std::array halves_and_floats{DType::float32, DType::float16, DType::bfloat16};

/// A process with a GPU and cuDNN.
struct Gpu {
  explicit Gpu(double ours = 100, std::shared_ptr<Vfs> files = std::make_shared<MemoryVfs>(), bool tf32 = false,
               bool has_products = true)
      : device("/gpu:0", std::make_unique<CudnnRuntime>(std::make_shared<Choices>("GPU", std::move(files), "c"), ours,
                                                        tf32, has_products)) {}

  /// cuDNN's algorithms for a convolution or its gradient: first the measured ones, then that of the result, which is
  /// compared.
  All compute(const Convolved& c, std::size_t function = 0, DType dtype = DType::float32) {
    library().computed.clear();
    Random random = draws(8);
    const std::vector<Tensor> x{random_tensor(random, c.x, dtype), random_tensor(random, c.kernel, dtype),
                                random_tensor(random, c.y(), dtype)};
    const Function f = functions_of(c)[function];
    CHECK(difference(run_on(device, x, f), run_on(cpu_device(), x, f), of_convolutions(dtype)) == "");
    return library().computed;
  }
  std::string kind_of_error(const Convolved& c) {
    const std::vector<Tensor> x{Tensor(c.x), Tensor(c.kernel), Tensor(c.y())};
    return error_of([&] { run_on(device, x, functions_of(c)[0]); });
  }
  Cuda device;
};

const Convolved sample{.x = {2, 5, 6, 4}, .kernel = {3, 3, 4, 8}, .same = true};

std::vector<Convolved> all_convolutions() {
  std::vector<Convolved> all = dense_convolutions();
  for (const Convolved& c : depthwise_convolutions()) all.push_back(c);
  all.push_back({.x = {2, 5, 6, 4}, .kernel = {3, 3, 2, 6}, .same = true});  // two groups
  all.push_back({.x = {2, 6, 6, 6}, .kernel = {3, 2, 2, 9}, .window = {.strides = {2, 1}}, .pool = pairs});
  return all;
}

constexpr ConvolutionPass passes[] = {ConvolutionPass::forward, ConvolutionPass::input, ConvolutionPass::filter};

}  // namespace

TEST_CASE("cuDNN gets the correct convolutions, and our kernels those that it does not support",
          "[cuda][convolution][cudnn]") {
  {
    Gpu gpu;
    int by_cudnn = 0, by_us = 0;
    for (const Convolved& c : all_convolutions())
      for (const DType dtype : halves_and_floats)
        for (std::size_t function = 0; function < 3; ++function) {
          CAPTURE(c.name(), dtype, function);
          const All computed = gpu.compute(c, function, dtype);
          const bool supported = cuda::vendor_may_convolve(convolution_shape(c.padded(), c.x, c.kernel), dtype);
          CHECK(computed.empty() == !supported);
          (supported ? by_cudnn : by_us) += 1;
          if (supported) CHECK(computed.back() == Computed{passes[function], 1});
        }
    CHECK(by_cudnn > 100);
    CHECK(by_us == 9);  // padded on one side
    for (const OpEntry& entry : op_table()) {
      if (!entry.name.starts_with("Convolution")) continue;
      for (const OpCase& one : entry.cases)
        for (const DType dtype : halves_and_floats) {
          INFO(one.name << ", " << dtype);
          const std::vector<Tensor> x = one.draw(6, dtype);
          CHECK(difference(run_on(gpu.device, x, one.function), run_on(cpu_device(), x, one.function),
                           of_convolutions(dtype)) == "");
        }
    }
  }
  CHECK(host_cudnn::alive() == 0);
}

TEST_CASE("ops after a convolution of cuDNN are computed as after ours", "[cuda][convolution][cudnn]") {
  Gpu gpu;
  Random random = draws(8);
  const std::vector<Tensor> x{random_tensor(random, sample.x, DType::float32),
                              random_tensor(random, sample.kernel, DType::float32),
                              random_tensor(random, {8}, DType::float32)};
  const auto layer = [](Values v) { return ops::relu(ops::convolution(v[0], v[1], sample.padded()) + v[2]); };
  library().computed.clear();
  CHECK(difference(run_on(gpu.device, x, layer), run_on(cpu_device(), x, layer), of_convolutions(DType::float32)) ==
        "");
  CHECK_FALSE(library().computed.empty());
}

TEST_CASE("convolutions in float64 are ours", "[cuda][convolution][cudnn]") {
  Gpu gpu;
  for (std::size_t function = 0; function < 3; ++function) CHECK(gpu.compute(sample, function, DType::float64).empty());
}

TEST_CASE("cuDNN gets only padding that is equal on both sides, as far as a window reads it",
          "[cuda][convolution][cudnn]") {
  const auto asked = [](std::int64_t extent, std::int64_t stride, std::int64_t before, std::int64_t after) {
    Window window{.extent = {3, 1}, .strides = {stride, 1}, .before = {before, 0}, .after = {after, 0}};
    return cuda::vendor_may_convolve(convolution_shape(window, {1, extent, 4, 2}, {3, 1, 2, 2}), DType::float32);
  };
  CHECK(asked(8, 1, 1, 1));
  CHECK(asked(8, 2, 1, 0));  // the last window ends at the last row
  CHECK(asked(7, 2, 1, 1));
  CHECK_FALSE(asked(8, 2, 0, 1));
  CHECK_FALSE(asked(8, 1, 2, 0));
  CHECK_FALSE(asked(8, 1, 0, 2));
  // "same" with a stride of two pads an even extent only at the end.
  Gpu gpu;
  CHECK(gpu.compute({.x = {2, 6, 6, 4}, .kernel = {3, 3, 4, 4}, .window = {.strides = {2, 2}}, .same = true}).empty());
  CHECK_FALSE(
      gpu.compute({.x = {2, 7, 7, 4}, .kernel = {3, 3, 4, 4}, .window = {.strides = {2, 2}}, .same = true}).empty());
}

TEST_CASE("cuDNN gets neither tensors of 2^31 elements nor empty ones", "[cuda][convolution][cudnn]") {
  const auto asked = [](const Shape& x, const Shape& kernel) {
    Window window;
    window.extent = {kernel[0], kernel[1]};
    return cuda::vendor_may_convolve(convolution_shape(window, x, kernel), DType::float32);
  };
  CHECK(asked({1, 1 << 15, (1 << 16) - 1, 1}, {1, 1, 1, 1}));
  CHECK_FALSE(asked({1, 1 << 15, 1 << 16, 1}, {1, 1, 1, 1}));
  CHECK_FALSE(asked({1, 1 << 10, 1 << 10, 1}, {1, 1, 1, 1 << 11}));
  CHECK_FALSE(asked({0, 8, 8, 1}, {1, 1, 1, 1}));
  CHECK_FALSE(asked({1, 2, 2, 1}, {3, 3, 1, 1}));
}

TEST_CASE("the faster one of our convolution and cuDNN's is chosen, once for all processes",
          "[cuda][convolution][cudnn]") {
  for (std::size_t function = 0; function < 3; ++function) {
    CAPTURE(function);
    const Computed one{passes[function], 1}, other{passes[function], 0};
    const All measured = function == 0 ? All{one, other} : All{one};
    for (const bool ours_is_faster : {false, true}) {
      const auto files = std::make_shared<MemoryVfs>();
      All expected = measured;
      if (!ours_is_faster) expected.push_back(one);
      const All again = ours_is_faster ? All{} : All{one};
      {
        Gpu gpu(ours_is_faster ? 0.5 : 2, files);
        CHECK(gpu.compute(sample, function) == expected);
        CHECK(gpu.compute(sample, function) == again);
      }
      Gpu later(ours_is_faster ? 2 : 0.5, files);  // its own choice would differ
      CHECK(later.compute(sample, function) == again);
      CHECK(later.compute({.x = {3, 5, 6, 4}, .kernel = {3, 3, 4, 8}, .same = true}, function).size() >=
            measured.size());  // another kind
    }
  }
}

TEST_CASE("a choice of cuDNN is measured again if cuDNN no longer supports it", "[cuda][convolution][cudnn]") {
  const auto files = std::make_shared<MemoryVfs>();
  CHECK(Gpu(100, files).compute(sample).back() == Computed{ConvolutionPass::forward, 1});
  Gpu gpu(100, files);
  library().unsupported = {1, 2};
  CHECK(gpu.compute(sample) == All(2, {ConvolutionPass::forward, 0}));
  Gpu last(100, files);
  CHECK(last.compute(sample) == All(1, {ConvolutionPass::forward, 0}));
}

TEST_CASE("algorithms of cuDNN that need too much workspace are not used", "[cuda][convolution][cudnn]") {
  Gpu gpu;
  library().workspace = Cudnn::workspace_bytes;
  CHECK(gpu.compute(sample).empty());
  Gpu other;
  library().workspace = Cudnn::workspace_bytes - 256;
  CHECK_FALSE(other.compute(sample).empty());
}

TEST_CASE("a cuDNN that does not support the GPU computes nothing", "[cuda][convolution][cudnn]") {
  Gpu gpu;
  library().knows_gpu = false;
  CHECK(gpu.compute(sample).empty());
  library().knows_gpu = true;
  CHECK(gpu.compute(sample).empty());  // it is called once
}

TEST_CASE("a convolution of cuDNN that fails when it is measured is skipped; a later failure is an Error",
          "[cuda][convolution][cudnn]") {
  Gpu gpu;
  library().status = internal_error;
  CHECK(gpu.compute(sample).empty());
  Gpu other;
  CHECK_FALSE(other.compute(sample).empty());
  library().status = internal_error;
  CHECK(other.kind_of_error(sample).starts_with("[Cuda] a convolution float32 2 5 6 4 5 6 8 1 3 3 1 1 1 1 1 1 failed"));
  library().status = no_memory;
  CHECK(other.kind_of_error(sample).starts_with("[Cuda] convolution failed: cuDNN found no memory - expected"));
  library().status = 0;
  CHECK_FALSE(other.compute(sample).empty());
}

TEST_CASE("cuDNN rounds factors of float32 to TF32 only on request", "[cuda][convolution][cudnn]") {
  constexpr int tensor_cores = 1, as_stored = 3;
  for (const bool tf32 : {false, true}) {
    Gpu gpu(100, std::make_shared<MemoryVfs>(), tf32);
    for (const DType dtype : halves_and_floats) {
      CAPTURE(tf32, dtype);
      library().maths.clear();
      gpu.compute(sample, 0, dtype);
      const int expected = dtype == DType::float32 && !tf32 ? as_stored : tensor_cores;
      CHECK(library().maths == std::vector<int>(3, expected));
    }
  }
}

TEST_CASE("cuDNN works without cuBLASLt", "[cuda][convolution][cudnn]") {
  Gpu gpu(100, std::make_shared<MemoryVfs>(), false, false);
  for (const Convolved& c : dense_convolutions())
    for (std::size_t function = 0; function < 3; ++function) gpu.compute(c, function);
  CHECK_FALSE(gpu.compute(sample).empty());
}

namespace {

/// A convolution as an instruction, of ones by ones.
struct Instructed {
  explicit Instructed(Gpu& gpu, std::size_t shift = 0) : device(gpu.device) {
    const Window window{.extent = {1, 1}};
    const Shape x{1, 4, 4, 4}, kernel{1, 1, 4, 4};
    convolution.shape = convolution_shape(window, x, kernel);
    const auto at = [&](std::size_t place) { return Operand{0, static_cast<std::int64_t>(place * 256 + shift)}; };
    convolution.x = at(0);
    convolution.kernel = at(1);
    convolution.out = at(2);
    convolution.workspace = at(3);
    memory = device.allocate(1024 + shift + device.workspace(convolution));
    const std::vector<float> ones(64, 1);
    memory->write(shift, ones.data(), 256);
    memory->write(256 + shift, ones.data(), 64);
    address = memory->address();
  }
  void run() { device.run(convolution, Addresses(&address, 1)); }
  std::vector<float> result() const {
    std::vector<float> numbers(64);
    memory->read(static_cast<std::size_t>(convolution.out.offset), numbers.data(), 256);
    return numbers;
  }
  Cuda& device;
  instruction::Convolution convolution{};
  std::shared_ptr<Storage> memory;
  std::byte* address = nullptr;
};

const std::vector<float> fours(64, 4);

}  // namespace

TEST_CASE("a chosen convolution of cuDNN is recorded; an unmeasured one is ours in a recording",
          "[cuda][convolution][cudnn]") {
  const auto files = std::make_shared<MemoryVfs>();
  for (const bool measured : {false, true}) {
    CAPTURE(measured);
    Gpu gpu(100, files);
    Instructed one(gpu);
    if (measured) one.run();
    library().computed.clear();
    const auto graph = gpu.device.runtime().record([&] { one.run(); });
    CHECK(library().computed.size() == (measured ? 1 : 0));
    gpu.device.runtime().launch(*graph);
    CHECK(one.result() == fours);
    one.run();
    CHECK(library().computed.size() == (measured ? 2 : 0));  // a process computes a kind in one way
  }
}

TEST_CASE("cuDNN gets only addresses that are aligned to 16 bytes", "[cuda][convolution][cudnn]") {
  for (const std::size_t shift : {0, 4, 8, 16}) {
    CAPTURE(shift);
    Gpu gpu;
    Instructed one(gpu, shift);
    one.run();
    CHECK(one.result() == fours);
    CHECK(library().computed.empty() == (shift % 16 != 0));
  }
}

TEST_CASE("the plan shows which convolutions are cuDNN's", "[cuda][convolution][cudnn]") {
  const auto files = std::make_shared<MemoryVfs>();
  const auto method = [](Gpu& gpu, const Convolved& c) {
    instruction::Convolution convolution{};
    convolution.shape = convolution_shape(c.padded(), c.x, c.kernel);
    return gpu.device.method(convolution);
  };
  Gpu gpu(100, files);
  CHECK(method(gpu, sample) == "cuDNN, if that is faster");
  gpu.compute(sample);
  CHECK(method(gpu, sample) == "cuDNN");
  Gpu later(0.1, files);
  CHECK(method(later, sample) == "cuDNN");
  const Convolved ours = dense_convolutions().front();
  later.compute(ours);
  CHECK(method(later, ours).empty());
}

TEST_CASE("launches are counted of the chosen convolution, without measuring or choosing one",
          "[cuda][convolution][cudnn][launches]") {
  Gpu gpu;
  Instructed one(gpu);
  const auto counted = [&] { return gpu.device.launches(one.convolution, Addresses(&one.address, 1)); };
  CHECK(counted() == 1);  // our product
  CHECK(library().computed.empty());
  one.run();
  const All measured = library().computed;
  CHECK(measured.size() == 3);
  CHECK(counted() == 2);  // the kernel is transposed first
  CHECK(library().computed == measured);
}

}  // namespace etude
