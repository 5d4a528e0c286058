#pragma once

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <mutex>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/cuda.hpp"
#include "cuda/program_cache.hpp"
#include "cuda/program_compiler.hpp"
#include "model_kinds.hpp"
#include "runtime_under_test.hpp"

/// Models on a GPU that counts its calls.
namespace etude::samples {

using testing::CountingRuntime;

/// A GPU, and the strategy that puts models there.
struct Gpu {
  explicit Gpu(const CudaOptions& options = {}, int number = 0)
      : device("/gpu:" + std::to_string(number), std::make_unique<CountingRuntime>(testing::runtime_under_test(number)),
               options),
        strategy(std::make_shared<OneDeviceStrategy>(device)) {}

  CountingRuntime& runtime() { return static_cast<CountingRuntime&>(device.runtime()); }
  CountingRuntime::Counts& counts() { return runtime().counts; }

  Cuda device;
  StrategyPtr strategy;
};

/// A model that was created in the strategy's scope and trained, from the same seed each time.
inline std::unique_ptr<Sequential> trained(const Kind& kind, const StrategyPtr& strategy, FitOptions options = {},
                                           std::int64_t steps_per_execution = 1) {
  set_random_seed(5);
  const auto scope = strategy->scope();
  auto model = std::make_unique<Sequential>(kind.layers());
  model->compile({.optimizer = kind.optimizer,
                  .loss = losses::sparse_categorical_crossentropy({.from_logits = true}),
                  .metrics = {"accuracy"},
                  .steps_per_execution = steps_per_execution});
  if (!options.batch_size) options.batch_size = 8;
  options.verbose = 0;
  options.epochs = 3;
  model->fit(kind.x, labels, options);
  return model;
}

/// The calls of the runtime in each step of an epoch, from one batch's end to the next one's.
class Asked : public Callback {
 public:
  explicit Asked(CountingRuntime::Counts& counts) : counts_(counts) {}
  std::vector<CountingRuntime::Counts> steps;
  void on_train_batch_begin(std::int64_t, Logs&) override { counts_ = {}; }
  void on_train_batch_end(std::int64_t, Logs&) override { steps.push_back(counts_); }

 private:
  CountingRuntime::Counts& counts_;
};

/// Compiles programs by NVRTC, the installed one or that in the file `library`: without warnings, including those of
/// spilled registers.
inline void check_nvrtc_compiles(std::span<const std::string> sources, int architecture,
                                 const std::string& library = "") {
  std::mutex mutex;
  std::string warnings;
  cuda::ProgramCache cache(
      [&](const std::string& source, int gpu) {
        std::string own;
        std::vector<char> cubin = library.empty() ? cuda::compile_program(source, gpu, &own)
                                                  : cuda::compile_program_by(library, source, gpu, &own);
        const std::lock_guard lock(mutex);
        warnings += own;
        return cubin;
      },
      "");
  for (const auto& cubin : cache.cubins(sources, architecture)) CHECK(!cubin->empty());
  CHECK(warnings == "");
}

/// The memory accesses in a program's PTX: the number of instructions, and how many of them move 16 bytes or more.
struct MemoryAccesses {
  int loads = 0, stores = 0, wide_loads = 0, wide_stores = 0;
};
inline MemoryAccesses memory_accesses(const std::string& ptx) {
  // ld.global.nc.v4.f32, st.global.v2.u64: a number of elements, which is 1 unless named, and their type.
  static const std::regex access(R"(\b(ld|st)\.global(?:\.\w+)*?(?:\.v(\d))?\.[bfsu](\d+)\s)");
  MemoryAccesses counts;
  for (std::sregex_iterator one(ptx.begin(), ptx.end(), access), end; one != end; ++one) {
    const int elements = (*one)[2].matched ? std::stoi((*one)[2]) : 1, bits = std::stoi((*one)[3]);
    const bool loads = (*one)[1] == "ld", wide = elements * bits >= 128;
    ++(loads ? counts.loads : counts.stores);
    if (wide) ++(loads ? counts.wide_loads : counts.wide_stores);
  }
  return counts;
}

/// A step of a recorded plan: one launch and nothing else, except at the beginning of an epoch: then each replica gets
/// the order of the rows and its start.
inline CountingRuntime::Counts one_launch(bool epoch_begins, int replicas = 1) {
  return {.uploads = epoch_begins ? 2 * replicas : 0, .graphs = 1};
}

}  // namespace etude::samples
