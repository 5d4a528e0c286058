#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <mutex>

#include "checkpoint_samples.hpp"
#include "cuda/nccl.hpp"
#include "fake_cuda.hpp"
#include "gpu_samples.hpp"
#include "host_nccl.hpp"
#include "mirrored_samples.hpp"
#include "support.hpp"

// All-reduces of several GPUs, concurrent with their other work. Only on the host: CUDA and NCCL are fakes, whose
// streams execute their work late, early or irregularly, as a test sets.
namespace etude {

using namespace samples;
namespace fake = testing::fake;
using Catch::Matchers::ContainsSubstring;
using cuda::Nccl;

namespace {

/// NCCL without overlap: each all-reduce is in the order of the GPUs' queues.
struct InOrder : Collective {
  explicit InOrder(std::shared_ptr<Nccl> of) : nccl(std::move(of)) {}
  std::string_view name() const override { return "InOrder"; }
  void all_reduce(std::span<const ReplicaSum> bucket) override { nccl->all_reduce(bucket); }
  std::shared_ptr<Nccl> nccl;
};

/// Two GPUs with real runtimes. Buckets are small, so that small models have several.
struct TwoGpus {
  Cuda one{"/gpu:0", fake::runtime(0)}, other{"/gpu:1", fake::runtime(1)};
  std::shared_ptr<Nccl> nccl;

  /// `early_sides`: whether the second streams execute their work at once.
  explicit TwoGpus(bool early_sides = false) {
    const bool early = std::exchange(fake::early(), early_sides);
    try {
      nccl = std::make_shared<Nccl>(fake::nccl(), std::vector<cuda::Runtime*>{&one.runtime(), &other.runtime()}, 64);
    } catch (...) {
      fake::early() = early;
      throw;
    }
    fake::early() = early;
  }
  StrategyPtr strategy(std::shared_ptr<Collective> collective) {
    return std::make_shared<MirroredStrategy>(
        MirroredOptions{.devices = {one, other}, .collective = std::move(collective)});
  }
  StrategyPtr beside() { return strategy(nccl); }
  StrategyPtr in_order() { return strategy(std::make_shared<InOrder>(nccl)); }
};

std::vector<LayerPtr> synchronized() {
  return {layers::dense({.units = 9}), layers::batch_normalization({.synchronized = true}),
          layers::dense({.units = 8, .activation = "relu"}), layers::batch_normalization({.synchronized = true}),
          classes()};
}

/// The kinds of models, and one that has all-reduces in the forward pass.
std::vector<Kind> all_kinds() {
  std::vector<Kind> all = kinds;
  all.push_back({"synchronized", synchronized, "adam", waves({22, 6})});
  return all;
}

struct Course {
  std::int64_t batch_size, steps_per_execution;
  std::vector<double> weights(const Kind& kind, const StrategyPtr& strategy) const {
    return weights_of(*trained(kind, strategy, {.batch_size = batch_size}, steps_per_execution));
  }
};

}  // namespace

TEST_CASE("concurrent sums have the bits of sums in order, for any delay of the streams", "[cuda][nccl][gpu_runtime]") {
  for (const Kind& kind : all_kinds())
    for (const Course training : {Course{11, 1}, Course{7, 2}}) {
      INFO(kind.name << ", batches of " << training.batch_size);
      const std::vector<double> expected = [&] {
        TwoGpus gpus;
        return training.weights(kind, gpus.in_order());
      }();
      for (const bool early_sides : {false, true})
        for (const bool early_queues : {false, true}) {
          CAPTURE(early_sides, early_queues);
          fake::early() = early_queues;
          {
            TwoGpus gpus(early_sides);
            CHECK(training.weights(kind, gpus.beside()) == expected);
          }
          fake::early() = false;
        }
      for (std::uint64_t pace = 1; pace <= static_cast<std::uint64_t>(testing::rounds(3, 100)); ++pace) {
        CAPTURE(pace);
        fake::pace() = pace;
        {
          TwoGpus gpus;
          CHECK(training.weights(kind, gpus.beside()) == expected);
        }
        fake::pace() = 0;
      }
      CHECK(fake::alive() == fake::Alive{});
    }
}

TEST_CASE("the sums of the last layers start before the gradients of the first layers are computed",
          "[cuda][nccl][gpu_runtime]") {
  TwoGpus gpus;
  const auto model = trained(kinds[0], gpus.beside(), {.batch_size = 22});
  const std::vector<Instruction>& step = model->make_train_function()->plan()->instructions();
  const auto names = [&](std::string_view name) {
    return [name](const Instruction& one) { return name_of(one) == name; };
  };
  const auto first = std::ranges::find_if(step, names("AllReduce"));
  CHECK(std::any_of(first, step.end(), names("Gemm")));
  CHECK(std::ranges::count_if(step, names("AllReduce")) > 1);
  CHECK(std::ranges::count_if(step, names("AllReduce")) == std::ranges::count_if(step, names("AwaitSums")));
}

TEST_CASE("NCCL ends started sums before it destroys its streams and events", "[cuda][nccl][gpu_runtime]") {
  Cuda one("/gpu:0", fake::runtime(0)), other("/gpu:1", fake::runtime(1));
  const fake::Alive before = fake::alive();
  const std::vector<float> numbers{1, 2};
  std::vector<cuda::Runtime*> runtimes{&one.runtime(), &other.runtime()};
  ReplicaSum value{DType::float32, 2, {}, {}};
  for (cuda::Runtime* runtime : runtimes) {
    std::byte* memory = runtime->allocate(8);
    runtime->upload(memory, numbers.data(), 8);
    value.parts.push_back(memory);
    value.sums.push_back(memory);
  }
  testing::host_nccl::counts() = {};
  {
    Nccl nccl(fake::nccl(), runtimes);
    nccl.start(std::span(&value, 1), 0);
  }
  CHECK(testing::host_nccl::counts().alive == 0);
  CHECK(testing::host_nccl::counts().destroyed_early == 0);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<float> sums(2);
    runtimes[i]->download(sums.data(), value.sums[i], 8);
    CHECK(sums == std::vector<float>{2, 4});
    runtimes[i]->release(value.sums[i]);
  }
  fake::Alive after = fake::alive();
  after.host_blocks = before.host_blocks;  // pinned memory of the copies, and its events
  after.events = before.events;
  CHECK(after == before);
}

TEST_CASE("a second queue knows whether the work before a mark is done", "[cuda][gpu_runtime]") {
  const std::unique_ptr<cuda::Runtime> gpu = fake::runtime();
  const std::vector<float> numbers{1, 2};
  std::vector<float> got(2);
  std::byte* const memory = gpu->allocate(8);
  {
    const std::unique_ptr<cuda::SideQueue> side = gpu->side_queue();
    const std::lock_guard lock(*gpu);
    CHECK(side->reached(3));  // no mark of that number
    gpu->upload(memory, numbers.data(), 8);
    side->follow();
    side->follow();
    side->mark(0);
    CHECK_FALSE(side->reached(0));
    for (int turns = 0; !side->reached(0); ++turns) REQUIRE(turns < 10);
    side->follow();
    CHECK(side->reached(0));  // later work does not matter
    side->lead(0);
  }
  gpu->download(got.data(), memory, 8);  // an unfinished mark was no error
  CHECK(got == numbers);
  gpu->release(memory);
}

TEST_CASE("a CUDA call that fails during sums ends the training with an Error, and the next training is bit-exact",
          "[cuda][nccl][gpu_runtime][reliability]") {
  using fake::Fault;
  const Course training{11, 1};
  const Kind& kind = kinds[0];
  const std::vector<double> expected = [&] {
    TwoGpus gpus;
    return training.weights(kind, gpus.beside());
  }();
  const std::int64_t stride = testing::rounds(23, 1);
  for (const Fault fault : {Fault::no_memory, Fault::invalid_value, Fault::lost, Fault::lost_in_queue}) {
    bool failed = true;
    for (std::int64_t call = 1; failed; call += stride) {
      CAPTURE(static_cast<int>(fault), call);
      fake::early() = call % 2 == 0;  // so that memory that is freed after an error is reused before late sums are done
      fake::fail_call(call, fault);
      std::vector<double> weights = expected;
      const std::string error = testing::error_of([&] {
        TwoGpus gpus;
        weights = training.weights(kind, gpus.beside());
      });
      CHECK(weights == expected);
      failed = fake::has_failed();
      fake::fail_call(0);
      fake::early() = false;
      if (!failed) CHECK(error == "no error");
      CHECK(fake::alive() == fake::Alive{});
    }
    TwoGpus gpus;
    CHECK(training.weights(kind, gpus.beside()) == expected);
  }
}

}  // namespace etude
