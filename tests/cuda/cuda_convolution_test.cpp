#include <catch2/catch_test_macros.hpp>

#include "convolution_samples.hpp"
#include "cuda/cuda.hpp"
#include "runtime_under_test.hpp"

using namespace etude;
using namespace etude::samples;
using etude::testing::CountingRuntime;

TEST_CASE("convolutions with one channel per group and their gradients match the processor", "[cuda][convolution]") {
  Cuda gpu("/gpu:0", std::make_unique<CountingRuntime>());
  auto& counts = static_cast<CountingRuntime&>(gpu.runtime()).counts;
  for (const Convolved& c : depthwise_convolutions())
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
      check_convolution(gpu, c, dtype, of_convolutions(dtype));
  CHECK(counts.products == 0);
}

TEST_CASE("convolutions with one channel per group have few kernels", "[cuda][convolution]") {
  Cuda gpu("/gpu:0", std::make_unique<CountingRuntime>());
  auto& counts = static_cast<CountingRuntime&>(gpu.runtime()).counts;
  counts = {};
  check_convolution(gpu, {.x = {2, 5, 6, 8}, .kernel = {3, 3, 1, 8}, .same = true}, DType::float32,
                    of_convolutions(DType::float32), [&](std::size_t function) {
                      CHECK(counts.kernels == (function == 2 ? 2 : 1));
                      counts = {};
                    });
}

TEST_CASE("a filter's gradient of many places has the same bits each time", "[cuda][convolution]") {
  Cuda gpu("/gpu:0", std::make_unique<CountingRuntime>());
  const Convolved c{.x = {2, 20, 18, 36}, .kernel = {3, 3, 1, 36}, .same = true};
  Random random = testing::draws(8);
  const std::vector<Tensor> x{testing::random_tensor(random, c.x, DType::float32),
                              testing::random_tensor(random, c.kernel, DType::float32),
                              testing::random_tensor(random, c.y(), DType::float32)};
  const testing::Function gradient = functions_of(c)[2];
  CHECK(testing::same_bits(testing::run_on(gpu, x, gradient), testing::run_on(gpu, x, gradient)));
}

TEST_CASE("convolutions of several channels and their gradients match the processor", "[cuda][convolution]") {
  // An image's patches at a time, where a vendor multiplies.
  for (const std::size_t most_patches_bytes : {std::size_t{1}, CudaOptions{}.most_patches_bytes}) {
    Cuda gpu("/gpu:0", std::make_unique<CountingRuntime>(), {.most_patches_bytes = most_patches_bytes});
    for (const Convolved& c : dense_convolutions())
      for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
        check_convolution(gpu, c, dtype, of_convolutions(dtype));
  }
}
