#include <stdexcept>
#include <string>

#include "cuda/gpu_runtime.hpp"
#include "played/state.hpp"
#include "played_cuda.hpp"
#include "runtime_under_test.hpp"

// NVRTC and the driver, played, and what tests ask of both and of CUDA.

struct etude::cuda::CUfunc_st {};

namespace {

using namespace etude;
using namespace etude::testing;
using namespace etude::testing::played;

int load(cuda::Driver::Module* module, const void* image) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (captures()) return cudaErrorStreamCaptureUnsupported;
  auto loaded = std::make_shared<cuda::CUmod_st>();
  const std::string source = static_cast<const char*>(image);
  loaded->program = std::move(state.executor.compile(std::span(&source, 1)).front());
  *module = loaded.get();
  state.modules[*module] = loaded;
  return 0;
}

int unload(cuda::Driver::Module module) {
  const std::lock_guard lock(state.mutex);
  return state.modules.erase(module) == 1 ? 0 : cudaErrorInvalidResourceHandle;
}

int find(cuda::Driver::Function* function, cuda::Driver::Module module, const char* name) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  if (name != std::string("program")) return cudaErrorInvalidValue;
  *function = reinterpret_cast<cuda::Driver::Function>(module);
  return 0;
}

int launch_program(cuda::Driver::Function function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                   unsigned, unsigned, CUstream_st* stream, void** arguments, void**) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (stream->device != current) return cudaErrorInvalidResourceHandle;
  const auto module = reinterpret_cast<cuda::Driver::Module>(function);
  return queue(stream, [=, own = copy_of(arguments[0], launched_bytes)] {
    const auto found = state.modules.find(module);
    if (found == state.modules.end()) throw std::logic_error("a program that is gone");
    state.executor.launch(*found->second->program, blocks, threads, own.data(), own.size());
  });
}

/// Says what is launched.
class Telling : public PassingRuntime {
 public:
  using PassingRuntime::launch, PassingRuntime::PassingRuntime;
  void launch(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments) override {
    launched = &kernel;
    PassingRuntime::launch(kernel, blocks, arguments);
  }
  void launch(const cuda::CompiledProgram& program, std::int64_t blocks, unsigned threads, const void* arguments,
              std::size_t bytes) override {
    launched_bytes = bytes;
    PassingRuntime::launch(program, blocks, threads, arguments, bytes);
  }
};

}  // namespace

namespace etude::testing {

played::Alive played::alive() {
  const std::lock_guard lock(state.mutex);
  const auto count = [](const auto& map) { return static_cast<int>(map.size()); };
  return {count(state.streams), state.events,        state.graphs,
          count(state.modules), count(state.blocks), count(state.host_blocks)};
}
std::size_t& played::room() { return state.room; }
bool& played::room_for_graphs() { return state.room_for_graphs; }
bool& played::early() { return state.early; }
std::size_t played::uploaded() { return state.uploaded; }
void played::fail_call(std::int64_t number, bool loses_gpu) {
  state.calls_to_fault = number;
  state.fault = loses_gpu ? cudaErrorIllegalAddress : cudaErrorMemoryAllocation;
  state.lost = false;
}
bool played::has_failed() { return state.calls_to_fault == 0; }
std::unique_ptr<cuda::Runtime> played::runtime(int ordinal) {
  return std::make_unique<Telling>(cuda::open_gpu(ordinal));
}

}  // namespace etude::testing

namespace etude::cuda {

const Driver& driver() {
  static const Driver driver{
      [](std::span<const std::string> sources, int) {
        std::vector<ProgramCache::Cubin> cubins;
        for (const std::string& source : sources)
          cubins.push_back(std::make_shared<std::vector<char>>(source.c_str(), source.c_str() + source.size() + 1));
        return cubins;
      },
      load, unload, find, launch_program};
  return driver;
}

}  // namespace etude::cuda
