#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>
#include <set>
#include <stdexcept>

#include "checkpoint_samples.hpp"
#include "cuda/gpu_runtime.hpp"
#include "fake_cuda.hpp"
#include "fake_gpu.hpp"
#include "gpu_samples.hpp"
#include "host_runtime.hpp"
#include "mirrored_samples.hpp"
#include "support.hpp"

// The CUDA calls of a GPU's runtime. Only on the host, on a fake CUDA, which executes queued work only when the host
// waits for it.
namespace etude {

using namespace samples;
namespace fake = testing::fake;
using Catch::Matchers::ContainsSubstring;
using testing::FakeGpu;

namespace {

/// A GPU that reuses freed blocks for allocations of nearly the same size: the lowest first.
class Reusing : public testing::HostRuntime {
 public:
  std::byte* allocate(std::size_t bytes) override {
    constexpr std::size_t most = 1024;
    if (bytes > most || free_.empty()) return HostRuntime::allocate(std::max(bytes, most));
    std::byte* memory = free_.extract(free_.begin()).value();
    std::fill_n(memory, most, std::byte{});
    return memory;
  }
  void release(std::byte* memory) noexcept override { free_.insert(memory); }
  ~Reusing() override {
    for (std::byte* memory : free_) HostRuntime::release(memory);
  }

 private:
  std::set<std::byte*> free_;
};

}  // namespace

TEST_CASE("a model trains on its new arrays, even at the addresses of earlier ones", "[cuda][gpu_runtime]") {
  const auto weights_on = [](Device& device) {
    set_random_seed(5);
    const auto strategy = std::make_shared<OneDeviceStrategy>(device);
    const auto scope = strategy->scope();
    Sequential model({layers::dense({.units = 3})});
    model.compile({.optimizer = "sgd", .loss = losses::sparse_categorical_crossentropy({.from_logits = true})});
    for (const std::int64_t rows : {8, 16, 12, 20})
      model.fit(waves({rows, 4}), labels.rows(0, rows), {.batch_size = 4, .epochs = 3, .verbose = 0});
    return weights_of(model);
  };
  Cuda gpu("/gpu:0", std::make_unique<Reusing>());
  CHECK(distance(weights_on(gpu), weights_on(cpu_device())) < 2e-5);
}

TEST_CASE("a model trains to the same bits for any delay of its work", "[cuda][gpu_runtime]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    {
      Gpu gpu;
      FakeGpu late;
      for (const std::int64_t steps_per_execution : {1, 3})
        CHECK(weights_of(*trained(kind, late.strategy, {.batch_size = 4}, steps_per_execution)) ==
              weights_of(*trained(kind, gpu.strategy, {.batch_size = 4})));
      late.runtime().room = 0;  // batches are uploaded one by one
      CHECK(weights_of(*trained(kind, late.strategy, {.batch_size = 4})) ==
            weights_of(*trained(kind, gpu.strategy, {.batch_size = 4})));
      const auto both = [](Device& device) {
        return std::make_shared<MirroredStrategy>(MirroredOptions{.devices = {device, device}});
      };
      CHECK(weights_of(*trained(kind, both(late.device), {.batch_size = 11})) ==
            weights_of(*trained(kind, both(gpu.device), {.batch_size = 11})));
      CHECK(late.runtime().counts.graphs > 0);
    }
    CHECK(fake::alive() == fake::Alive{});  // all memory was freed
  }
}

TEST_CASE("a GPU without memory for graphs trains to the same bits", "[cuda][gpu_runtime]") {
  const Kind& kind = kinds[0];
  Gpu gpu;
  FakeGpu small;
  fake::room_for_graphs() = false;
  const auto model = trained(kind, small.strategy);
  fake::room_for_graphs() = true;
  CHECK(weights_of(*model) == weights_of(*trained(kind, gpu.strategy)));
  CHECK(small.runtime().counts.graphs == 0);
}

TEST_CASE("work of more than 65,536 nodes is not recorded", "[cuda][gpu_runtime]") {
  const auto runtime = fake::runtime();
  std::byte* const memory = runtime->allocate(8);
  for (const int count : {1 << 16, (1 << 16) + 1}) {
    const auto graph = runtime->record([&] {
      for (int i = 0; i < count; ++i) runtime->copy(memory + 4, memory, 4);
    });
    CHECK((graph != nullptr) == (count == 1 << 16));
  }
  runtime->release(memory);
}

TEST_CASE("a failed download does not write to the caller's memory later", "[cuda][gpu_runtime]") {
  const auto runtime = fake::runtime();
  std::byte* const memory = runtime->allocate(64);
  std::array<std::byte, 64> numbers;
  numbers.fill(std::byte{7});
  const auto untouched = numbers;
  for (int call = 2; call <= 5; ++call) {  // after the GPU was chosen
    CAPTURE(call);
    fake::fail_call(call);
    const std::string error = testing::error_of([&] { runtime->download(numbers.data(), memory, 64); });
    const bool failed = fake::has_failed();
    fake::fail_call(0);
    runtime->wait();
    CHECK(failed == (error != "no error"));
    if (failed) CHECK(numbers == untouched);
    numbers = untouched;
  }
  runtime->release(memory);
}

TEST_CASE("uploaded memory may change at once, for any size and any order of the copies", "[cuda][gpu_runtime]") {
  for (const auto& [queue_early, bus_early] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    INFO("queue early: " << queue_early << ", bus early: " << bus_early);
    fake::early() = queue_early;
    const auto runtime = fake::runtime();
    fake::early() = bus_early;
    for (const std::size_t count : {std::size_t{3}, std::size_t{20'000}, (std::size_t{3} << 20) + 5}) {
      constexpr int turns = 12;
      std::vector<std::int32_t> numbers(count), back(count);
      std::byte* memory = runtime->allocate(turns * 4 * count);
      for (int turn = 0; turn < turns; ++turn) {
        std::iota(numbers.begin(), numbers.end(), turn);
        runtime->upload(memory + 4 * count * turn, numbers.data(), 4 * count);
      }
      for (int turn = 0; turn < turns; ++turn) {
        std::iota(numbers.begin(), numbers.end(), turn);
        runtime->download(back.data(), memory + 4 * count * turn, 4 * count);
        CHECK(back == numbers);
      }
      runtime->release(memory);
    }
  }
  fake::early() = false;
  CHECK(fake::alive() == fake::Alive{});
}

TEST_CASE("a batch is uploaded while earlier steps are still queued, if device memory suffices",
          "[cuda][gpu_runtime]") {
  const std::vector<std::int32_t> first(100'000, 1), second(100'000, 2);
  const std::size_t bytes = 4 * first.size();
  for (const bool has_room : {true, false}) {
    const std::size_t room = std::exchange(fake::room(), has_room ? fake::room() : 2 * bytes);
    const auto runtime = fake::runtime();
    fake::early() = true;  // the bus, not the queue
    std::byte* memory = runtime->allocate(2 * bytes);
    const std::size_t before = fake::uploaded();
    runtime->upload(memory, first.data(), bytes);
    runtime->copy(memory + bytes, memory, bytes);  // the step
    runtime->upload(memory, second.data(), bytes);
    CHECK(memory[0] == std::byte{0xff});  // no item of the queue is done
    CHECK(fake::uploaded() - before == (has_room ? 2 * bytes : 0));
    std::vector<std::int32_t> batch(first.size()), made(first.size());
    runtime->download(made.data(), memory + bytes, bytes);
    runtime->download(batch.data(), memory, bytes);
    CHECK(made == first);
    CHECK(batch == second);
    runtime->release(memory);
    fake::early() = false;
    fake::room() = room;
  }
}

TEST_CASE("device memory is zeroed, and accesses beyond its end are errors", "[cuda][gpu_runtime]") {
  const auto runtime = fake::runtime(1);
  std::byte* memory = runtime->allocate(100);
  std::vector<std::byte> back(100, std::byte{1});
  runtime->download(back.data(), memory, 100);
  CHECK(back == std::vector<std::byte>(100));
  runtime->release(memory);
  const std::size_t room = std::exchange(fake::room(), 1000);
  CHECK(runtime->free_memory() == 1000);
  CHECK_THAT(
      testing::error_of([&] { runtime->allocate(4096); }),
      Catch::Matchers::StartsWith("[/gpu:1] 4096 bytes, of which 1000 are free - expected them to fit in its memory"));
  fake::room() = room;
  std::byte* small = runtime->allocate(10);  // the failed call has left nothing
  runtime->release(small);
}

TEST_CASE("an error in a recording leaves a working GPU, and is reported", "[cuda][gpu_runtime]") {
  const auto runtime = fake::runtime();
  CHECK_THROWS_WITH(runtime->record([] { throw std::runtime_error("no such instruction"); }), "no such instruction");
  // Waiting within a recording invalidates it.
  CHECK_THAT(testing::error_of([&] { runtime->record([&] { runtime->wait(); }); }),
             Catch::Matchers::StartsWith("[Cuda] what was queued failed: operation not permitted when stream is"));
  std::byte* memory = runtime->allocate(8);
  const auto graph = runtime->record([&] { runtime->copy(memory + 4, memory, 4); });
  const std::int32_t seven = 7;
  runtime->upload(memory, &seven, 4);
  runtime->launch(*graph);
  std::int32_t back[2];
  runtime->download(back, memory, 8);
  CHECK(back[1] == 7);
  runtime->release(memory);
}

TEST_CASE("a batch that does not fit is an Error with the free memory, and a smaller one then trains to the same bits",
          "[cuda][gpu_runtime]") {
  const Tensor x = waves({2048, 64}), y({2048}, DType::int32);
  const auto train = [&](FakeGpu& gpu, std::int64_t batch_size) {
    set_random_seed(5);
    const auto scope = gpu.strategy->scope();
    Sequential model({layers::dense({.units = 256, .activation = "relu"}), layers::dense({.units = 3})});
    model.compile({.optimizer = "sgd", .loss = losses::sparse_categorical_crossentropy({.from_logits = true})});
    model.fit(x, y, {.batch_size = batch_size, .epochs = 1, .verbose = 0});
    return weights_of(model);
  };
  const std::vector<double> expected = [&] {
    FakeGpu sound;
    return train(sound, 64);
  }();
  const std::size_t room = std::exchange(fake::room(), std::size_t{2} << 20);
  {
    FakeGpu small;
    const std::string error = testing::error_of([&] { train(small, 2048); });
    CHECK_THAT(error, ContainsSubstring(" bytes, of which "));
    CHECK_THAT(error, ContainsSubstring(" are free - expected them to fit in its memory of 2097152 - pass smaller"));
    CHECK(train(small, 64) == expected);
  }
  fake::room() = room;
}

TEST_CASE("copies between GPUs are divided into pieces of 4 MiB", "[cuda][gpu_runtime]") {
  Cuda one("/gpu:0", std::make_unique<CountingRuntime>(fake::runtime(0))),
      other("/gpu:1", std::make_unique<CountingRuntime>(fake::runtime(1)));
  std::vector<std::int32_t> numbers((9 << 18) + 3), back(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 1);
  const std::size_t bytes = 4 * numbers.size();
  const auto from = one.allocate(bytes), to = other.allocate(bytes);
  from->write(0, numbers.data(), bytes);
  to->copy(8, *from, bytes - 8);
  to->read(0, back.data(), bytes);
  numbers[0] = numbers[1] = 0;
  CHECK(back == numbers);
  CHECK(static_cast<CountingRuntime&>(one.runtime()).counts.downloads == 3);
  CHECK(static_cast<CountingRuntime&>(other.runtime()).counts.uploads == 3);
}

TEST_CASE("GPUs that CUDA does not report are not listed, and the error has the reason", "[cuda][gpu_runtime]") {
  std::string why;
  fake::fail_call(1);
  CHECK(cuda::find_gpus(why).empty());
  CHECK(why == "out of memory");
  why.clear();
  fake::fail_call(2);  // the properties of the first one
  CHECK(cuda::find_gpus(why).size() <= 1);
  CHECK(why != "");
  fake::fail_call(0);
}

TEST_CASE("memory that is freed during a recording is freed after it", "[cuda][gpu_runtime]") {
  const auto runtime = fake::runtime();
  std::byte *memory = runtime->allocate(8), *released = runtime->allocate(8);
  const fake::Alive before = fake::alive();
  const auto graph = runtime->record([&] {
    runtime->copy(memory + 4, memory, 4);
    runtime->release(released);
    CHECK(fake::alive().blocks == before.blocks);
  });
  CHECK(fake::alive().blocks == before.blocks - 1);
  CHECK(graph != nullptr);
  runtime->release(memory);
}

TEST_CASE("work goes to its own GPU, whichever is current", "[cuda][gpu_runtime]") {
  Cuda one("/gpu:0", fake::runtime(0)), other("/gpu:1", fake::runtime(1));
  const Tensor x = waves({6, 5});
  const auto doubled = [&](Device& device) {
    return evaluate(device, std::span(&x, 1),
                    [](std::span<const Value> values) { return std::vector{ops::softmax(values[0] * 2.0)}; })
        .front();
  };
  const Tensor expected = doubled(cpu_device());
  for (int turn = 0; turn < 2; ++turn)
    for (Cuda* device : {&one, &other}) CHECK(testing::difference(doubled(*device), expected, {1e-6, 1e-6}) == "");
  CHECK_THAT(testing::error_of([] { cuda::open_gpu(2); }),
             Catch::Matchers::StartsWith("[Cuda] choosing a GPU failed: invalid device ordinal - expected"));
}

}  // namespace etude
