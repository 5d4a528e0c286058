#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>

#include "cuda/gpu_runtime.hpp"
#include "cuda/profile.hpp"
#include "environment_variable.hpp"
#include "etude/kernels/cpu/cpu_device.hpp"
#include "fake_cuda.hpp"
#include "gpu_samples.hpp"
#include "host_cublas_lt.hpp"
#include "host_cudnn.hpp"
#include "mirrored_samples.hpp"

// How a GPU's runtime measures algorithms. Only on the host, on a fake CUDA, whose time is the number of items in a
// queue.

namespace etude {
namespace {

using namespace samples;
namespace fake = testing::fake;
using Algorithms = std::vector<std::uint64_t>;

/// Fake GPUs that measure, until the end of a test.
struct Measuring {
  explicit Measuring(std::vector<testing::host_cublas_lt::Algorithm> algorithms = {{1, 5}, {2, 2}}) {
    fake::has_products() = fake::has_convolutions() = true;
    testing::host_cudnn::library() = {.queue = testing::host_cudnn::library().queue};
    fake::choices() = std::make_shared<cuda::Choices>("fake");
    library().algorithms = std::move(algorithms);
    library().multiplied.clear();
  }
  ~Measuring() {
    fake::has_products() = fake::has_convolutions() = false;
    fake::choices() = nullptr;
    library() = {.queue = library().queue};
  }
  static testing::host_cublas_lt::Library& library() { return testing::host_cublas_lt::library(); }
};

/// A product on a fake GPU.
struct Product {
  explicit Product(int ordinal = 0) : runtime(fake::runtime(ordinal)) {
    memory = runtime->allocate(4096 + runtime->product_workspace());
  }
  ~Product() { runtime->release(memory); }
  /// Enqueues it; the algorithms that multiplied.
  Algorithms multiply(std::int64_t n = 3) {
    testing::host_cublas_lt::library().multiplied.clear();
    CHECK(runtime->multiply({DType::float32,
                             2,
                             n,
                             4,
                             1,
                             {memory, 4, false, 0},
                             {memory + 1024, n, false, 0},
                             {memory + 2048, n, false, 0},
                             memory + 4096}));
    return testing::host_cublas_lt::library().multiplied;
  }
  std::unique_ptr<cuda::Runtime> runtime;
  std::byte* memory;
};

/// `count` times the same number.
Algorithms times(std::size_t count, std::uint64_t number) { return Algorithms(count, number); }
Algorithms concatenated(std::initializer_list<Algorithms> parts) {
  Algorithms all;
  for (const Algorithms& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

TEST_CASE("each algorithm is run once, and then five times between events, before the fastest one computes the product",
          "[cuda][gpu_runtime][choices]") {
  const Measuring measuring;
  const fake::Alive before = fake::alive();
  {
    Product product;
    CHECK(product.multiply() == concatenated({times(6, 1), times(6, 2), {2}}));
    CHECK(product.multiply() == Algorithms{2});
  }
  CHECK(fake::alive() == before);
}

TEST_CASE("an algorithm that takes long is measured in one run", "[cuda][gpu_runtime][choices]") {
  const Measuring measuring({{1, 21}, {2, 20}});
  Product product;
  CHECK(product.multiply() == concatenated({times(2, 1), times(6, 2), {2}}));
}

TEST_CASE("nothing is measured within a recording, and the recorded algorithm stays that of the process",
          "[cuda][gpu_runtime][choices]") {
  const Measuring measuring;
  Product product, other(1);
  const auto graph = product.runtime->record([&] { CHECK(product.multiply() == Algorithms{1}); });
  REQUIRE(graph);
  product.runtime->launch(*graph);
  product.runtime->wait();
  CHECK(product.multiply() == Algorithms{1});
  CHECK(other.multiply() == Algorithms{1});
  CHECK(product.multiply(5) == concatenated({times(6, 1), times(6, 2), {2}}));
  CHECK(other.multiply(5) == Algorithms{2});  // a GPU of the same model
}

TEST_CASE("a runtime without choices uses the algorithm that is advised first", "[cuda][gpu_runtime][choices]") {
  const Measuring measuring;
  fake::choices() = nullptr;
  Product product;
  CHECK(product.runtime->chooser() == nullptr);
  CHECK(product.multiply() == Algorithms{1});
}

TEST_CASE("a profile counts no product that was measured", "[cuda][gpu_runtime][choices]") {
  const testing::EnvironmentVariable wanted("ETUDE_PROFILE", "1");
  const Measuring measuring;
  Product product;
  product.multiply();
  product.multiply();
  CHECK_THAT(cuda::Profile::tables(),
             Catch::Matchers::ContainsSubstring("        2       4000    2000.00  product of float32 2 x 4 x 3\n"));
}

TEST_CASE("a training measures its products in its first step, and a second process trains to the same bits",
          "[cuda][gpu_runtime][choices]") {
  const Measuring measuring;
  const auto train = [] {
    Cuda device("/gpu:0", std::make_unique<CountingRuntime>(fake::runtime()), {.most_work_of_programs = 0});
    return weights_of(*trained(kinds.front(), std::make_shared<OneDeviceStrategy>(device)));
  };
  const std::vector<double> first = train();
  const auto& multiplied = Measuring::library().multiplied;
  CHECK(std::ranges::count(multiplied, 1u) > 0);
  Measuring::library().multiplied.clear();
  CHECK(train() == first);
  CHECK(std::ranges::count(multiplied, 1u) == 0);
  CHECK(std::ranges::count(multiplied, 2u) > 0);
}

TEST_CASE("a training computes its convolutions by cuDNN where that is faster, and a second process to the same bits",
          "[cuda][gpu_runtime][choices]") {
  const Measuring measuring;
  std::vector<testing::host_cudnn::Computed>& computed = testing::host_cudnn::library().computed;
  const auto train = [&] {
    computed.clear();
    Cuda device("/gpu:0", std::make_unique<CountingRuntime>(fake::runtime()));
    return weights_of(*trained(kinds[1], std::make_shared<OneDeviceStrategy>(device)));
  };
  const std::vector<double> first = train();
  const std::size_t measured = computed.size();
  CHECK(train() == first);
  CHECK(computed.size() > 0);
  CHECK(computed.size() < measured);
  CHECK(distance(first, weights_of(*trained(kinds[1], std::make_shared<OneDeviceStrategy>(cpu_device())))) < 2e-5);
}

TEST_CASE("a GPU that rounds to TF32 has separate choices", "[cuda][gpu_runtime][choices]") {
  const Measuring measuring;
  cuda::open_gpu(0, false);
  CHECK(fake::measured_model() == "fake");
  cuda::open_gpu(0, true);
  CHECK(fake::measured_model() == "fake, TF32");
}

TEST_CASE("a first run that fails is not recorded when it is tried again", "[cuda][gpu_runtime][choices]") {
  testing::CountingRuntime* counted = nullptr;
  auto runtime = std::make_unique<CountingRuntime>(fake::runtime());
  counted = runtime.get();
  Cuda device("/gpu:0", std::move(runtime));
  std::unique_ptr<Device::Recording> kept;
  std::byte* const addresses[] = {nullptr};
  bool fails = true;
  int runs = 0;
  const std::function<void()> work = [&] {
    ++runs;
    if (fails) throw std::runtime_error("no memory");
  };
  CHECK_THROWS(device.replay(work, addresses, kept));
  fails = false;
  device.replay(work, addresses, kept);
  CHECK(counted->counts.graphs == 0);
  device.replay(work, addresses, kept);
  CHECK(counted->counts.graphs == 1);
  CHECK(runs == 3);
}

}  // namespace etude
