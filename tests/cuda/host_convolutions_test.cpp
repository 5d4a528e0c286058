#include <array>
#include <catch2/catch_test_macros.hpp>

#include "convolution_samples.hpp"
#include "cuda/cuda.hpp"
#include "host_runtime.hpp"
#include "op_entries.hpp"
#include "runtime_under_test.hpp"

// Convolutions with a vendor's products. Only on the host.

using namespace etude;
using namespace etude::samples;
using namespace etude::testing;

namespace {

constexpr std::array floats{DType::float32, DType::float64, DType::float16, DType::bfloat16};

struct Gpu {
  Cuda device;
  explicit Gpu(std::size_t most_patches_bytes)
      : device("/gpu:0", std::make_unique<CountingRuntime>(std::make_unique<HostRuntime>(true)),
               {.most_patches_bytes = most_patches_bytes}) {}
  CountingRuntime::Counts& counts() { return static_cast<CountingRuntime&>(device.runtime()).counts; }
};

/// Products, and kernels, of the forward pass and of both gradients.
std::vector<std::array<int, 2>> launches_of(const Convolved& c, std::size_t most_patches_bytes) {
  Gpu gpu(most_patches_bytes);
  std::vector<std::array<int, 2>> all;
  gpu.counts() = {};
  check_convolution(gpu.device, c, DType::float32, of_convolutions(DType::float32), [&](std::size_t) {
    all.push_back({gpu.counts().products, gpu.counts().kernels});
    gpu.counts() = {};
  });
  return all;
}

using Launches = std::vector<std::array<int, 2>>;

}  // namespace

TEST_CASE("convolutions match the processor, for any number of images whose patches are laid out at a time",
          "[cuda][convolution][products]") {
  for (const std::size_t most : {std::size_t{1}, std::size_t{6000}, CudaOptions{}.most_patches_bytes}) {
    Gpu gpu(most);
    for (const auto& all : {dense_convolutions(), depthwise_convolutions()})
      for (const Convolved& c : all)
        for (const DType dtype : floats) check_convolution(gpu.device, c, dtype, of_convolutions(dtype));
    for (const OpEntry& entry : op_table()) {
      if (!entry.name.starts_with("Convolution")) continue;
      for (const OpCase& one : entry.cases)
        for (const DType dtype : floats) {
          INFO(one.name << ", " << dtype);
          const std::vector<Tensor> x = one.draw(6, dtype);
          CHECK(difference(run_on(gpu.device, x, one.function), run_on(cpu_device(), x, one.function),
                           of_convolutions(dtype)) == "");
        }
    }
  }
}

TEST_CASE("patches are laid out for as many images at a time as fit", "[cuda][convolution][products]") {
  // 5 images of 4 x 4 places, of 18 numbers each.
  const Convolved c{.x = {5, 4, 4, 2}, .kernel = {3, 3, 2, 2}, .same = true};
  constexpr std::size_t image = 4 * 4 * 18 * sizeof(float);
  // A gradient of x transposes the kernel first. That of the kernel sums the results of chunks.
  CHECK(launches_of(c, 5 * image) == Launches{{1, 1}, {1, 2}, {1, 1}});
  CHECK(launches_of(c, 2 * image) == Launches{{3, 3}, {3, 4}, {3, 6}});
  CHECK(launches_of(c, image) == Launches{{5, 5}, {5, 6}, {5, 10}});
  CHECK(launches_of(c, 1) == Launches{{5, 5}, {5, 6}, {5, 10}});
}

TEST_CASE("patches of an image that do not fit are laid out in parts", "[cuda][convolution][products]") {
  // 2 images of 20 x 20 places: 128 at a time at least.
  const Convolved c{.x = {2, 20, 20, 4}, .kernel = {3, 3, 4, 4}, .same = true};
  CHECK(launches_of(c, 1) == Launches{{7, 7}, {7, 8}, {7, 14}});
  CHECK(launches_of(c, 300 * 36 * sizeof(float)) == Launches{{3, 3}, {3, 4}, {3, 6}});
  CHECK(launches_of(c, 400 * 36 * sizeof(float)) == Launches{{2, 2}, {2, 3}, {2, 4}});
}

TEST_CASE("a convolution by a kernel of one cell is one product, of x itself", "[cuda][convolution][products]") {
  CHECK(launches_of({.x = {3, 4, 5, 6}, .kernel = {1, 1, 6, 4}}, 1) == Launches{{1, 0}, {1, 0}, {1, 0}});
}

TEST_CASE("a filter's gradient in half precision is rounded once per chunk, not in the sum",
          "[cuda][convolution][products]") {
  // Each image adds 1 to a sum that starts at 2048: in float16 every other sum would be rounded down to the previous
  // one.
  const Shape x{9, 1, 2, 1}, dy{9, 1, 1, 1}, kernel{1, 2, 1, 1};
  std::vector<double> ones(18, 1);
  ones[0] = 2048;
  const std::vector<Tensor> tensors{tensor_of(x, DType::float16, ones),
                                    tensor_of(dy, DType::float16, std::vector<double>(9, 1))};
  Window window;
  window.extent = {1, 2};
  Gpu gpu(1);
  const auto gradient =
      run_on(gpu.device, tensors, [&](Values v) { return ops::convolution_filter(v[0], v[1], window, kernel); });
  CHECK(gpu.counts().products == 9);
  CHECK(numbers(gradient) == std::vector<double>{2056, 9});
}
