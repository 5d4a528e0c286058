#include "cuda/device_memory.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <utility>

#include "fake_cuda.hpp"
#include "gpu_samples.hpp"
#include "host_runtime.hpp"
#include "support.hpp"

// The memory of a GPU's runtime. Only on the host: CUDA is a fake, which executes queued work only when the host waits
// for it.
namespace etude {

using namespace samples;
namespace fake = testing::fake;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

/// Changes a setting of the fake CUDA during its lifetime.
template <class T> class Setting {
 public:
  Setting(T& place, T value) : place_(place), before_(std::exchange(place, value)) {}
  ~Setting() { place_ = before_; }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  T& place_;
  T before_;
};

/// The results of some ops on this device, each computed at once.
std::vector<Tensor> eager_results(Device& device) {
  const Tensor x = waves({6, 5});
  const auto computed = [&](const std::function<Value(Value)>& op) {
    return evaluate(device, std::span(&x, 1), [&](std::span<const Value> values) { return std::vector{op(values[0])}; })
        .front();
  };
  return {computed([](Value v) { return ops::softmax(v * 2.0); }), computed([](Value v) { return ops::sum(v); }),
          computed([](Value v) { return ops::matmul(v, ops::transpose(v)); })};
}

/// A model's weights after training on a separate GPU.
std::vector<double> trained_weights(const Kind& kind) {
  Cuda gpu("/gpu:0", fake::runtime());
  return weights_of(*trained(kind, std::make_shared<OneDeviceStrategy>(gpu)));
}

}  // namespace

TEST_CASE("eager ops use the same memory again and again, with the bits of new memory", "[cuda][gpu_runtime]") {
  std::vector<Tensor> expected;
  for (const bool has_pools : {false, true}) {
    const Setting pools(fake::has_pools(), has_pools);
    Cuda gpu("/gpu:0", fake::runtime());
    for (const Tensor& result : eager_results(gpu))
      if (!has_pools) expected.push_back(result);
    const std::size_t before = fake::reservations();
    for (int turn = 0; turn < 10; ++turn) {
      const std::vector<Tensor> again = eager_results(gpu);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(testing::difference(again[i], expected[i], {0, 0}) == "");
      gpu.runtime().wait();  // after which the pool keeps its memory
    }
    CHECK((fake::reservations() == before) == has_pools);
  }
  CHECK(fake::alive() == fake::Alive{});
}

TEST_CASE("memory is reused in the order of the queue: earlier work still reads its previous contents",
          "[cuda][gpu_runtime]") {
  const auto runtime = fake::runtime();
  const std::array<std::int32_t, 4> first{1, 2, 3, 4}, second{5, 6, 7, 8};
  std::byte *kept = runtime->allocate(16), *memory = runtime->allocate(16);
  runtime->upload(memory, first.data(), 16);
  runtime->copy(kept, memory, 16);
  runtime->release(memory);
  std::byte* again = runtime->allocate(16);
  CHECK(again == memory);
  std::array<std::int32_t, 4> cleared{1}, back{}, back_again{};
  runtime->upload(again + 8, second.data(), 8);
  runtime->download(cleared.data(), again, 8);
  runtime->download(back_again.data(), again + 8, 8);
  runtime->download(back.data(), kept, 16);
  CHECK(cleared[0] == 0);
  CHECK(back_again[1] == 6);
  CHECK(back == first);
  runtime->release(kept);
  runtime->release(again);
}

TEST_CASE("memory that the pool keeps counts as free, and is freed before memory runs out", "[cuda][gpu_runtime]") {
  const Setting room(fake::room(), std::size_t{1000});
  const auto runtime = fake::runtime();
  std::byte *one = runtime->allocate(400), *other = runtime->allocate(400);
  CHECK(runtime->free_memory() == 200);
  runtime->release(one);
  CHECK(runtime->free_memory() == 600);
  runtime->release(other);
  CHECK(runtime->free_memory() == 1000);
  std::byte* large = runtime->allocate(900);  // in none of the two
  CHECK(runtime->free_memory() == 100);
  CHECK_THAT(testing::error_of([&] { runtime->allocate(200); }),
             StartsWith("[/gpu:0] 200 bytes, of which 100 are free - expected them to fit in its memory of 1000 - "));
  runtime->release(large);
  CHECK_THAT(testing::error_of([&] { runtime->allocate(2000); }), ContainsSubstring(", of which 1000 are free"));
  runtime->release(runtime->allocate(1000));
}

TEST_CASE("CUDA's allocations outside the pool can use the memory that the pool keeps", "[cuda][gpu_runtime]") {
  const std::vector<std::string> source{"extern \"C\" void program(const void*) {}"};
  for (const bool keeps : {true, false}) {
    const auto runtime = fake::runtime();
    std::byte* memory = runtime->allocate(8);
    const auto free_something = [&] {
      if (keeps) runtime->release(runtime->allocate(8));
    };
    free_something();
    fake::fail_call(5);  // after the calls that choose the GPU, and begin, end and count the recording
    CHECK((runtime->record([] {}) != nullptr) == keeps);
    CHECK(fake::has_failed());
    free_something();
    fake::fail_call(2);  // after the GPU was chosen
    CHECK((testing::error_of([&] { runtime->compile(source); }) == "no error") == keeps);
    CHECK(fake::has_failed());
    runtime->release(memory);
  }
}

TEST_CASE("a batch is uploaded while earlier steps are queued if the pool keeps enough memory for it",
          "[cuda][gpu_runtime]") {
  const std::vector<std::byte> batch(100'000);
  const Setting room(fake::room(), 3 * batch.size());
  const auto runtime = fake::runtime();
  const Setting bus(fake::early(), true);
  std::byte* memory = runtime->allocate(batch.size());
  runtime->release(runtime->allocate(2 * batch.size()));
  const std::size_t before = fake::uploaded();
  runtime->upload(memory, batch.data(), batch.size());
  CHECK(fake::uploaded() - before == batch.size());
  runtime->release(memory);
}

TEST_CASE("an allocation within a recording is an error, after which the GPU works", "[cuda][gpu_runtime]") {
  const auto runtime = fake::runtime();
  std::byte* memory = runtime->allocate(8);
  const fake::Alive before = fake::alive();
  CHECK_THAT(testing::error_of([&] { runtime->record([&] { runtime->allocate(24); }); }),
             StartsWith("[Cuda] 24 bytes while work is recorded - expected memory that was allocated before"));
  CHECK(fake::alive() == before);
  CHECK(runtime->record([&] { runtime->copy(memory + 4, memory, 4); }) != nullptr);
  runtime->release(memory);
}

TEST_CASE("any amount of memory that is freed during a recording is freed after it", "[cuda][gpu_runtime]") {
  const auto runtime = fake::runtime();
  std::byte* memory = runtime->allocate(8);
  std::vector<std::byte*> blocks(100);
  for (std::byte*& block : blocks) block = runtime->allocate(8);
  const int before = fake::alive().blocks;
  const auto graph = runtime->record([&] {
    runtime->copy(memory + 4, memory, 4);
    for (std::byte* block : blocks) runtime->release(block);
    CHECK(fake::alive().blocks == before);
  });
  CHECK(graph != nullptr);
  CHECK(fake::alive().blocks == before - 100);
  runtime->release(memory);
}

TEST_CASE("a GPU without memory pools trains to the same bits, and frees all memory", "[cuda][gpu_runtime]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    const std::vector<double> expected = trained_weights(kind);
    const Setting pools(fake::has_pools(), false);
    CHECK(trained_weights(kind) == expected);
    CHECK(fake::alive() == fake::Alive{});
  }
}

TEST_CASE("the memory of a GPU is shared with the GPUs that can access it", "[cuda][gpu_runtime]") {
  const std::array gpus{0, 1};
  for (const bool can : {true, false}) {
    const Setting reach(fake::peers_reach_each_other(), can);
    const auto runtime = fake::runtime(1);
    std::byte* before = runtime->allocate(8);
    CHECK_FALSE(fake::reaches(0, before));
    runtime->share_memory(gpus);
    std::byte* after = runtime->allocate(8);
    CHECK(fake::reaches(0, before) == can);
    CHECK(fake::reaches(0, after) == can);
    runtime->release(before);
    runtime->release(after);
  }
}

}  // namespace etude
