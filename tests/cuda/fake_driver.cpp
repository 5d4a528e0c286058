#include <algorithm>
#include <stdexcept>
#include <string>

#include "cuda/gpu_runtime.hpp"
#include "fake/state.hpp"
#include "fake_cuda.hpp"
#include "host_cublas_lt.hpp"
#include "host_cudnn.hpp"
#include "host_nccl.hpp"
#include "runtime_under_test.hpp"

// The fakes of NVRTC and of the driver, and the functions by which tests control the fake CUDA.

struct etude::cuda::CUfunc_st {};

namespace {

using namespace etude;
using namespace etude::testing;
using namespace etude::testing::fake;

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
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  return state.modules.erase(module) == 1 ? result() : said(cudaErrorInvalidResourceHandle);
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

/// The status of cuBLASLt for CUDA's error. Source: cublasStatus_t.
int fault_of_products() {
  const cudaError_t error = fault();
  return error == cudaSuccess ? 0 : error == cudaErrorMemoryAllocation ? 3 : 13;
}

/// The same for cuDNN. Source: cudnnStatus_t.
int fault_of_convolutions() {
  const cudaError_t error = fault();
  return error == cudaSuccess ? 0 : error == cudaErrorMemoryAllocation ? 4004 : 5000;
}

/// A function of a fake library that may fail.
template <auto& sound, auto function, auto fault, class Result, class... Parameters>
Result failing(Parameters... parameters) {
  if (const int status = fault(); status != 0) return status;
  return (sound().*function)(parameters...);
}
template <auto& sound, auto function, auto fault, class Functions, class Result, class... Parameters>
void let_fail(Functions& functions, Result (*)(Parameters...)) {
  functions.*function = failing<sound, function, fault, Result, Parameters...>;
}
template <auto& sound, auto fault, auto... these, class Functions> void let_fail(Functions& functions) {
  (let_fail<sound, these, fault>(functions, functions.*these), ...);
}

/// Enqueues a library's work in the order of the stream.
int queue_work(CUstream_st* stream, std::function<void()> work) {
  const std::lock_guard lock(state.mutex);
  return queue(stream, std::move(work)) == cudaSuccess ? 0 : 13;
}

const cuda::CublasLt::Functions* products() {
  if (!state.has_products) return nullptr;
  static const cuda::CublasLt::Functions functions = [] {
    using F = cuda::CublasLt::Functions;
    F own = host_cublas_lt::functions();
    let_fail<host_cublas_lt::functions, fault_of_products, &F::create, &F::create_description, &F::create_layout,
             &F::create_preference, &F::find, &F::check, &F::multiply>(own);
    return own;
  }();
  host_cublas_lt::library().queue = queue_work;
  return &functions;
}

const cuda::Cudnn::Functions* convolutions() {
  if (!state.has_convolutions) return nullptr;
  static const cuda::Cudnn::Functions functions = [] {
    using F = cuda::Cudnn::Functions;
    F own = host_cudnn::functions();
    let_fail<host_cudnn::functions, fault_of_convolutions, &F::create, &F::set_stream, &F::create_tensor,
             &F::set_tensor, &F::create_filter, &F::set_filter, &F::create_convolution, &F::set_convolution,
             &F::set_groups, &F::set_math, &F::forward_workspace, &F::forward, &F::input_workspace, &F::input,
             &F::filter_workspace, &F::filter>(own);
    return own;
  }();
  host_cudnn::library().queue = queue_work;
  return &functions;
}

std::shared_ptr<cuda::Choices> choices(const std::string& model) {
  state.measured_model = model;
  return state.choices;
}

/// A stream for the fake NCCL.
class CudaStream : public HostStream {
 public:
  explicit CudaStream(cudaStream_t stream) : stream_(stream) {}
  int gpu() const override { return stream_->device; }
  bool locked() const override { return true; }  // CUDA has no record of it
  bool recording() const override { return stream_->captured != nullptr; }
  void expect_here(const std::byte* memory, std::size_t bytes) const override {
    bool is_here = is_allocated(memory, bytes);
    for (int other = 0; other < gpus && state.peers_reach_each_other; ++other) is_here &= reaches(other, memory);
    if (!is_here) throw std::logic_error("memory that another GPU cannot access");
  }
  void expect_usable(const std::byte* memory, std::size_t bytes) const override {
    if (!state.lost && !is_usable(memory, bytes)) throw std::logic_error("a sum of memory that is gone");
  }
  void queue(std::function<void()> work) override {
    const std::lock_guard lock(state.mutex);
    fake::queue(stream_, std::move(work));
  }
  std::function<void()> so_far() override {
    return [stream = state.streams.at(stream_), position = stream_->queued] { run_to(*stream, position); };
  }

 private:
  cudaStream_t stream_;
};

int sum_of_gpus(const void* part, void* sum, std::size_t count, int type, int op, cuda::ncclComm* communicator,
                CUstream_st* stream) {
  if (fault() != cudaSuccess) host_nccl::next_status() = 1;  // ncclUnhandledCudaError
  return host_nccl::all_reduce(std::make_shared<CudaStream>(stream), part, sum, count, type, op, communicator);
}

/// Stores the launched kernel.
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

fake::Alive fake::alive() {
  const std::lock_guard lock(state.mutex);
  const auto count = [](const auto& map) { return static_cast<int>(map.size()); };
  const auto is_allocated = [](const auto& block) { return block.second.is_allocated; };
  return {.streams = count(state.streams),
          .events = state.events,
          .graphs = state.graphs,
          .programs = count(state.modules),
          .pools = count(state.pools),
          .blocks = static_cast<int>(std::ranges::count_if(state.blocks, is_allocated)),
          .host_blocks = count(state.host_blocks)};
}
std::size_t& fake::room() { return state.room; }
bool& fake::room_for_graphs() { return state.room_for_graphs; }
std::uint64_t& fake::pace() { return state.pace; }
bool& fake::early() { return state.early; }
bool& fake::has_pools() { return state.has_pools; }
bool& fake::peers_reach_each_other() { return state.peers_reach_each_other; }
bool fake::reaches(int gpu, const std::byte* memory) {
  const auto after = state.blocks.upper_bound(memory);
  if (after == state.blocks.begin()) return false;
  const Block& block = std::prev(after)->second;
  if (!block.pool) return state.peers_reach_each_other;  // as NCCL requires
  return block.device == gpu || block.pool->readers.contains(gpu);
}
std::size_t fake::reservations() { return state.reservations; }
std::size_t fake::uploaded() { return state.uploaded; }
fake::Ranges& fake::ranges() { return state.ranges; }
void fake::fail_call(std::int64_t number, Fault fault) {
  const bool in_queue = fault == Fault::lost_in_queue;
  state.calls_to_fault = in_queue ? 0 : number;
  state.items_to_fault = in_queue ? number : 0;
  state.stays = in_queue || fault == Fault::lost;
  state.fault = state.stays                        ? cudaErrorIllegalAddress
                : fault == Fault::no_memory        ? cudaErrorMemoryAllocation
                : fault == Fault::out_of_resources ? cudaErrorLaunchOutOfResources
                                                   : cudaErrorInvalidValue;
  state.lost = false;
}
bool fake::has_failed() { return state.calls_to_fault == 0 && state.items_to_fault == 0; }
const cuda::Nccl::Functions& fake::nccl() {
  static const cuda::Nccl::Functions functions = host_nccl::functions(sum_of_gpus);
  return functions;
}
bool& fake::has_products() { return state.has_products; }
bool& fake::has_convolutions() { return state.has_convolutions; }
const std::string& fake::measured_model() { return state.measured_model; }
std::shared_ptr<cuda::Choices>& fake::choices() { return state.choices; }
std::unique_ptr<cuda::Runtime> fake::runtime(int ordinal) { return std::make_unique<Telling>(cuda::open_gpu(ordinal)); }

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
      load,
      unload,
      find,
      launch_program,
      [](int* version) -> int { return cudaDriverGetVersion(version); },
      products,
      convolutions,
      choices};
  return driver;
}

}  // namespace etude::cuda
