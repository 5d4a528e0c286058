#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cuda/nccl.hpp"
#include "etude/distribute/detail/collectives.hpp"
#include "gpu_samples.hpp"
#include "mirrored_samples.hpp"
#include "support.hpp"

// Replicas on one GPU, and on several.
namespace etude {

using namespace samples;
using cuda::Nccl;
using testing::gpus_under_test;
using testing::nccl_under_test;

TEST_CASE("replicas on one GPU are reduced there: one launch per step, and the weights of replicas on processors",
          "[cuda][mirrored]") {
  for (const Kind& kind : kinds)
    for (const int replicas : {2, 3}) {
      INFO(kind.name << ", " << replicas << " replicas");
      Gpu gpu;
      const StrategyPtr on_cpu = mirrored(replicas), on_gpu = std::make_shared<MirroredStrategy>(MirroredOptions{
                                                         .devices = std::vector<std::reference_wrapper<Device>>(
                                                             static_cast<std::size_t>(replicas), gpu.device)});
      const auto asked = std::make_shared<Asked>(gpu.counts());
      const auto comparison = std::make_shared<Comparison>();
      CHECK(distance(weights_of(*trained(kind, on_gpu, {.batch_size = 11, .callbacks = {comparison}})),
                     weights_of(*trained(kind, on_cpu, {.batch_size = 11}))) < 2e-5);
      CHECK(comparison->differing == "");
      trained(kind, on_gpu, {.batch_size = 11, .callbacks = {asked}});
      for (std::size_t step = 2; step < asked->steps.size(); ++step)
        CHECK(asked->steps[step] == one_launch(step % 2 == 0, replicas));
    }
}

namespace {

/// Several GPUs, each with one replica, and NCCL.
struct Machine {
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::shared_ptr<Nccl> collective;

  explicit Machine(int count) {
    for (int number = 0; number < count; ++number) gpus.push_back(std::make_unique<Gpu>(CudaOptions{}, number));
    std::vector<cuda::Runtime*> runtimes;
    for (const auto& gpu : gpus) runtimes.push_back(&gpu->runtime());
    collective = std::make_shared<Nccl>(nccl_under_test(), runtimes);
  }
  StrategyPtr strategy() const {
    MirroredOptions options{.collective = collective};
    for (const auto& gpu : gpus) options.devices.emplace_back(gpu->device);
    return std::make_shared<MirroredStrategy>(options);
  }
};

/// The same number of replicas, all on one GPU.
struct Logical {
  Gpu gpu;
  StrategyPtr strategy;
  explicit Logical(int replicas)
      : strategy(std::make_shared<MirroredStrategy>(MirroredOptions{
            .devices = std::vector<std::reference_wrapper<Device>>(static_cast<std::size_t>(replicas), gpu.device)})) {}
};

/// The reason why this machine cannot run a test of several GPUs; empty if it can.
std::string missing(int gpus) {
  try {
    nccl_under_test();
  } catch (const Error& none) {
    return none.what();
  }
  if (gpus_under_test() < gpus) return std::to_string(gpus_under_test()) + " GPUs of " + std::to_string(gpus);
  return {};
}

}  // namespace

TEST_CASE("replicas on several GPUs train as on one GPU, and hold the same bits", "[cuda][mirrored][nccl][long]") {
  for (const int replicas : {2, 3}) {
    if (const std::string why = missing(replicas); !why.empty()) SKIP(why);
    for (const Kind& kind : kinds) {
      INFO(kind.name << ", " << replicas << " replicas");
      const Machine machine(replicas);
      const Logical logical(replicas);
      const auto comparison = std::make_shared<Comparison>();
      // 22 rows: the last batch of 11 is complete, that of 7 has a row for one replica, that of 10 has two rows.
      for (const std::int64_t batch_size : {11, 7, 10})
        CHECK(distance(
                  weights_of(*trained(kind, machine.strategy(), {.batch_size = batch_size, .callbacks = {comparison}})),
                  weights_of(*trained(kind, logical.strategy, {.batch_size = batch_size}))) < 1e-6);
      CHECK(comparison->steps == 3 * (2 + 4 + 3));
      CHECK(comparison->differing == "");
    }
  }
}

TEST_CASE("a step on several GPUs is one launch between all-reduces, and waits for nothing", "[cuda][mirrored][nccl]") {
  if (const std::string why = missing(2); !why.empty()) SKIP(why);
  for (const Kind& kind : kinds)
    for (const std::int64_t steps_per_execution : {1, 2}) {
      INFO(kind.name << ", " << steps_per_execution << " steps");
      Machine machine(2);
      std::vector<std::shared_ptr<Asked>> asked;
      std::vector<CallbackPtr> callbacks;
      for (const auto& gpu : machine.gpus)
        callbacks.push_back(asked.emplace_back(std::make_shared<Asked>(gpu->counts())));
      const auto model =
          trained(kind, machine.strategy(), {.batch_size = 11, .callbacks = callbacks}, steps_per_execution);
      for (const auto& one : asked) {
        const CountingRuntime::Counts& last = one->steps.back();
        CHECK(last.graphs >= 2 * steps_per_execution);
        CHECK(last.graphs <= 4 * steps_per_execution);
        // With two steps, an execution is a whole epoch, which begins with the upload of its order.
        CHECK(last == CountingRuntime::Counts{.uploads = steps_per_execution == 2 ? 2 : 0, .graphs = last.graphs});
      }
      CHECK(weights_of(*model) == weights_of(*trained(kind, machine.strategy(), {.batch_size = 11})));
    }
}

TEST_CASE("NCCL's sum for one GPU is part of its recording", "[cuda][nccl]") {
  if (const std::string why = missing(1); !why.empty()) SKIP(why);
  Machine machine(1);
  CountingRuntime& runtime = machine.gpus[0]->runtime();
  std::vector<float> numbers{1, -2, 3.5}, sums(3);
  std::byte *part = runtime.allocate(12), *sum = runtime.allocate(12);
  const ReplicaSum value{DType::float32, 3, {part}, {sum}};
  const auto graph = runtime.record([&] { machine.collective->all_reduce(std::span(&value, 1)); });
  runtime.upload(part, numbers.data(), 12);
  runtime.download(sums.data(), sum, 12);
  CHECK(sums == std::vector<float>(3));
  runtime.launch(*graph);
  runtime.download(sums.data(), sum, 12);
  CHECK(sums == numbers);
  runtime.release(part);
  runtime.release(sum);
}

namespace {

/// All-reduces replicas through the host, as between several GPUs.
struct ThroughTheHost : Collective {
  std::vector<CountingRuntime*> runtimes;
  std::string_view name() const override { return "ThroughTheHost"; }
  void all_reduce(std::span<const ReplicaSum> bucket) override {
    for (const ReplicaSum& value : bucket) {
      const std::size_t bytes = static_cast<std::size_t>(value.count) * size_of(value.dtype);
      std::vector<std::vector<std::byte>> parts;
      ReplicaSum on_host{value.dtype, value.count, {}, {}};
      for (std::size_t i = 0; i < value.parts.size(); ++i) {
        runtimes[i]->download(parts.emplace_back(bytes).data(), value.parts[i], bytes);
        on_host.parts.push_back(parts.back().data());
        on_host.sums.push_back(parts.back().data());
      }
      HostCollective().all_reduce(std::span(&on_host, 1));
      for (std::size_t i = 0; i < value.sums.size(); ++i) runtimes[i]->upload(value.sums[i], parts[i].data(), bytes);
    }
  }
};

}  // namespace

TEST_CASE("replicas on two GPUs with a custom collective train as on processors", "[cuda][mirrored]") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    Gpu one, other;
    const auto collective = std::make_shared<ThroughTheHost>();
    collective->runtimes = {&one.runtime(), &other.runtime()};
    const StrategyPtr on_cpu = mirrored(2), on_gpus = std::make_shared<MirroredStrategy>(MirroredOptions{
                                                .devices = {one.device, other.device}, .collective = collective});
    CHECK(distance(weights_of(*trained(kind, on_gpus)), weights_of(*trained(kind, on_cpu))) < 2e-5);
  }
}

TEST_CASE("replicas on several GPUs are an error if NCCL is missing", "[cuda][mirrored][nccl]") {
  if (gpus_under_test() < 2) SKIP("one GPU");
  const std::string none = testing::error_of([] { Nccl::installed(); });
  if (none == "no error") SKIP("NCCL is installed");
  CHECK_THAT(none, Catch::Matchers::StartsWith("[Cuda] no NCCL - expected libnccl.so.2"));
  Gpu one, other({}, 1);
  CHECK(testing::error_of([&] { MirroredStrategy({.devices = {one.device, other.device}}); }) == none);
}

TEST_CASE("devices without a common all-reduce are refused", "[cuda][mirrored]") {
  Gpu gpu, again;
  const auto refused = [](std::vector<std::reference_wrapper<Device>> devices) {
    return testing::error_of([&] { MirroredStrategy({.devices = devices}); });
  };
  using Catch::Matchers::StartsWith;
  CHECK_THAT(refused({gpu.device, again.device}),
             StartsWith("[/gpu:0] replicas on /gpu:0, which has several of them, together with this one - "
                        "expected"));
  CHECK_THAT(refused({cpu_device(), gpu.device}),
             StartsWith("[/gpu:0] replicas on cpu together with this one - expected"));
  CHECK_THAT(
      testing::error_of([&] {
        MirroredStrategy({.devices = {gpu.device, gpu.device}, .collective = std::make_shared<HostCollective>()});
      }),
      StartsWith("[MirroredStrategy] HostCollective for replicas on GPUs - expected"));
}

}  // namespace etude
