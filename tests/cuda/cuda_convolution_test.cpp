#include <catch2/catch_test_macros.hpp>

#include "convolution_samples.hpp"
#include "cuda/chooser.hpp"
#include "cuda/cuda.hpp"
#include "runtime_under_test.hpp"

using namespace etude;
using namespace etude::samples;
using etude::testing::CountingRuntime;

namespace {

/// A GPU that convolves only by our kernels.
struct Ours : CountingRuntime {
  cuda::Chooser* chooser() override { return nullptr; }
};

/// A GPU that convolves by one of the vendor's algorithms, if the vendor has one.
class Convolving : public testing::PassingRuntime {
 public:
  /// Uses the vendor's algorithm with this index, or the last one.
  explicit Convolving(int place)
      : PassingRuntime(testing::convolving_runtime_under_test()),
        chooser_(
            std::make_shared<cuda::Choices>("forced"),
            [this, place](const cuda::Chooser::Work& work) {
              const int before = convolved;
              if (!work()) return std::optional<double>();
              if (convolved == before) {  // ours, which is measured first
                measured_ = 0;
                return std::optional<double>(1000);
              }
              const int rank = measured_++;
              return std::optional<double>(rank <= place ? 100 - rank : 500);
            },
            [] { return true; }) {}
  cuda::Chooser* chooser() override { return PassingRuntime::chooser() ? &chooser_ : nullptr; }
  bool convolve(const cuda::VendorConvolution& convolution, int algorithm) override {
    const bool done = PassingRuntime::convolve(convolution, algorithm);
    convolved += done;
    return done;
  }
  int convolved = 0;

 private:
  int measured_ = 0;
  cuda::Chooser chooser_;
};

}  // namespace

TEST_CASE("convolutions and their gradients by each of the vendor's algorithms match the processor",
          "[cuda][convolution][parity]") {
  for (const int place : {0, 1, 2}) {
    Cuda gpu("/gpu:0", std::make_unique<Convolving>(place));
    auto& runtime = static_cast<Convolving&>(gpu.runtime());
    if (runtime.convolution_workspace() == 0) SKIP("the vendor has no convolutions here");
    for (const auto& all : {dense_convolutions(), depthwise_convolutions()})
      for (const Convolved& c : all)
        for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16})
          check_convolution(gpu, c, dtype, of_convolutions(dtype));
    CHECK(runtime.convolved > 0);
  }
}

TEST_CASE("a gradient by each of the vendor's algorithms has the same bits each time", "[cuda][convolution][parity]") {
  const Convolved c{.x = {4, 20, 18, 16}, .kernel = {3, 3, 16, 32}, .same = true};
  Random random = testing::draws(8);
  const std::vector<Tensor> x{testing::random_tensor(random, c.x, DType::float32),
                              testing::random_tensor(random, c.kernel, DType::float32),
                              testing::random_tensor(random, c.y(), DType::float32)};
  Cuda gpu("/gpu:0", std::make_unique<Convolving>(0));
  if (gpu.runtime().convolution_workspace() == 0) SKIP("the vendor has no convolutions here");
  for (const testing::Function& function : functions_of(c)) {
    const Tensor first = testing::run_on(gpu, x, function);
    for (int i = 0; i < 5; ++i) CHECK(testing::same_bits(testing::run_on(gpu, x, function), first));
  }
}

TEST_CASE("convolutions with one channel per group and their gradients match the processor", "[cuda][convolution]") {
  Cuda gpu("/gpu:0", std::make_unique<Ours>());
  auto& counts = static_cast<CountingRuntime&>(gpu.runtime()).counts;
  for (const Convolved& c : depthwise_convolutions())
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
      check_convolution(gpu, c, dtype, of_convolutions(dtype));
  CHECK(counts.products == 0);
}

TEST_CASE("convolutions with one channel per group have few kernels", "[cuda][convolution]") {
  Cuda gpu("/gpu:0", std::make_unique<Ours>());
  auto& counts = static_cast<CountingRuntime&>(gpu.runtime()).counts;
  counts = {};
  check_convolution(gpu, {.x = {2, 5, 6, 8}, .kernel = {3, 3, 1, 8}, .same = true}, DType::float32,
                    of_convolutions(DType::float32), [&](std::size_t function) {
                      CHECK(counts.kernels == (function == 2 ? 2 : 1));
                      counts = {};
                    });
}

TEST_CASE("a filter's gradient of many places has the same bits each time", "[cuda][convolution]") {
  Cuda gpu("/gpu:0", std::make_unique<Ours>());
  const Convolved c{.x = {2, 20, 18, 36}, .kernel = {3, 3, 1, 36}, .same = true};
  Random random = testing::draws(8);
  const std::vector<Tensor> x{testing::random_tensor(random, c.x, DType::float32),
                              testing::random_tensor(random, c.kernel, DType::float32),
                              testing::random_tensor(random, c.y(), DType::float32)};
  const testing::Function gradient = functions_of(c)[2];
  CHECK(testing::same_bits(testing::run_on(gpu, x, gradient), testing::run_on(gpu, x, gradient)));
}

TEST_CASE("convolutions of several channels and their gradients match the processor", "[cuda][convolution]") {
  // With a vendor's products, one image's patches at a time.
  for (const std::size_t most_patches_bytes : {std::size_t{1}, CudaOptions{}.most_patches_bytes}) {
    Cuda gpu("/gpu:0", std::make_unique<Ours>(), {.most_patches_bytes = most_patches_bytes});
    for (const Convolved& c : dense_convolutions())
      for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
        check_convolution(gpu, c, dtype, of_convolutions(dtype));
  }
}
