#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cuda/nccl.hpp"
#include "host_nccl.hpp"
#include "host_runtime.hpp"
#include "runtime_under_test.hpp"
#include "support.hpp"

// Class Nccl's handling of failures. Only on the host: a GPU's NCCL does not fail on request.

using namespace etude;
using namespace etude::testing;
using cuda::Nccl;

namespace {

struct Two {
  HostRuntime one{false, 0}, other{false, 1};
  std::vector<cuda::Runtime*> both{&one, &other};
};

}  // namespace

TEST_CASE("communicators are destroyed with their owner, and aborted after a failed sum", "[cuda][nccl]") {
  Two gpus;
  const ReplicaSum value{DType::float32,
                         2,
                         {gpus.one.allocate(8), gpus.other.allocate(8)},
                         {gpus.one.allocate(8), gpus.other.allocate(8)}};
  host_nccl::counts() = {};
  {
    Nccl nccl(nccl_under_test(), gpus.both);
    nccl.all_reduce(std::span(&value, 1));
    CHECK(host_nccl::counts().alive == 2);
  }
  CHECK(host_nccl::counts().alive == 0);
  CHECK(host_nccl::counts().aborted == 0);
  {
    Nccl nccl(nccl_under_test(), gpus.both);
    host_nccl::next_status() = 3;
    CHECK_THAT(error_of([&] { nccl.all_reduce(std::span(&value, 1)); }),
               Catch::Matchers::StartsWith(
                   "[NcclAllReduce] a sum failed: internal error - expected a connection between all GPUs"));
  }
  CHECK(host_nccl::counts().alive == 0);
  CHECK(host_nccl::counts().aborted == 2);
  for (int i = 0; i < 2; ++i) {
    gpus.both[static_cast<std::size_t>(i)]->release(const_cast<std::byte*>(value.parts[static_cast<std::size_t>(i)]));
    gpus.both[static_cast<std::size_t>(i)]->release(value.sums[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("every dtype of an all-reduce has its type in NCCL", "[cuda][nccl]") {
  Two gpus;
  Nccl nccl(nccl_under_test(), gpus.both);
  for (const DType dtype : {DType::int32, DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    INFO(dtype);
    visit_dtype(dtype, [&]<class T>(T) {
      const std::array<T, 4> own{static_cast<T>(1), static_cast<T>(2), static_cast<T>(3), static_cast<T>(4)};
      ReplicaSum value{dtype, 3, {}, {}};  // and not the fourth, which belongs to another type
      for (cuda::Runtime* gpu : gpus.both) {
        std::byte* memory = gpu->allocate(sizeof own);
        gpu->upload(memory, own.data(), sizeof own);
        value.parts.push_back(memory);
        value.sums.push_back(memory);
      }
      nccl.all_reduce(std::span(&value, 1));
      for (std::size_t i = 0; i < 2; ++i) {
        std::array<T, 4> sums;
        gpus.both[i]->download(sums.data(), value.sums[i], sizeof sums);
        for (std::size_t j = 0; j < 4; ++j)
          CHECK(static_cast<double>(sums[j]) == (j < 3 ? 2.0 * static_cast<double>(j + 1) : 4));
        gpus.both[i]->release(value.sums[i]);
      }
    });
  }
}

TEST_CASE("GPUs that NCCL cannot connect are refused", "[cuda][nccl]") {
  HostRuntime one(false, 0), again(false, 0);
  CHECK_THAT(error_of([&] { Nccl(nccl_under_test(), {&one, &again}); }),
             Catch::Matchers::StartsWith("[NcclAllReduce] getting GPUs together failed: invalid usage - expected"));
}
