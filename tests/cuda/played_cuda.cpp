#include "played_cuda.hpp"

#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda/driver.hpp"
#include "cuda/gpu_runtime.hpp"
#include "host_runtime.hpp"

using Work = std::vector<std::function<void()>>;

struct CUstream_st {
  int device;
  std::deque<std::function<void()>> queue;
  std::size_t queued = 0, done = 0;
  std::unique_ptr<Work> captured;
  bool valid = true;  // what is captured
};
struct CUevent_st {
  std::shared_ptr<CUstream_st> stream;
  std::size_t position = 0;
};
struct CUgraph_st {
  std::shared_ptr<const Work> work;
};
struct CUgraphExec_st {
  int device;
  std::shared_ptr<const Work> work;
};
struct etude::cuda::CUmod_st {
  std::unique_ptr<CompiledProgram> program;
};
struct etude::cuda::CUfunc_st {};

namespace {

using namespace etude;
using namespace etude::testing;

constexpr int gpus = 2;

/// All that CUDA keeps. One thread at a time calls it.
struct State {
  std::recursive_mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<CUstream_st>> streams;
  std::map<const std::byte*, std::pair<int, std::size_t>> blocks;  // whose, and their bytes
  std::map<const std::byte*, std::size_t> host_blocks;
  std::map<cuda::Driver::Module, std::shared_ptr<cuda::CUmod_st>> modules;
  int events = 0, graphs = 0;
  std::size_t room = std::size_t{1} << 30;
  bool room_for_graphs = true;
  HostRuntime executor;
} state;

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaStream_t capturing = nullptr;
/// What nvcc knows of a kernel, and NVRTC of a program: whose it is, and how long its arguments are.
thread_local const cuda::Kernel* launched = nullptr;
thread_local std::size_t launched_bytes = 0;

cudaError_t said(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

/// For what may not be asked for while this thread captures: what it captures is void then.
bool captures() {
  if (capturing) capturing->valid = false;
  return capturing != nullptr;
}

void run_to(CUstream_st& stream, std::size_t position) {
  while (stream.done < position) {
    const std::function<void()> work = std::move(stream.queue.front());
    stream.queue.pop_front();
    ++stream.done;
    work();
  }
}

cudaError_t queue(cudaStream_t stream, std::function<void()> work) {
  const auto found = state.streams.find(stream);
  if (found == state.streams.end()) return said(cudaErrorInvalidResourceHandle);
  if (stream->captured) {
    stream->captured->push_back(std::move(work));
  } else {
    stream->queue.push_back(std::move(work));
    ++stream->queued;
  }
  return cudaSuccess;
}

/// Whether all of it lies in one block.
template <class Blocks> bool within(const Blocks& blocks, const void* memory, std::size_t bytes, auto size_of_block) {
  const auto* first = static_cast<const std::byte*>(memory);
  const auto after = blocks.upper_bound(first);
  return after != blocks.begin() && first + bytes <= std::prev(after)->first + size_of_block(std::prev(after)->second);
}
bool on_device(const void* memory, std::size_t bytes) {
  return within(state.blocks, memory, bytes, [](const auto& block) { return block.second; });
}
bool on_host(const void* memory, std::size_t bytes) {
  return within(state.host_blocks, memory, bytes, [](std::size_t size) { return size; });
}

std::vector<std::byte> copy_of(const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  return {first, first + bytes};
}

std::size_t used(int device) {
  std::size_t bytes = 0;
  for (const auto& [memory, block] : state.blocks) bytes += block.first == device ? block.second : 0;
  return bytes;
}

int load(cuda::Driver::Module* module, const void* image) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return cudaErrorStreamCaptureUnsupported;
  auto loaded = std::make_shared<cuda::CUmod_st>();
  loaded->program = state.executor.compile(static_cast<const char*>(image));
  *module = loaded.get();
  state.modules[*module] = loaded;
  return 0;
}

int unload(cuda::Driver::Module module) {
  const std::lock_guard lock(state.mutex);
  return state.modules.erase(module) == 1 ? 0 : cudaErrorInvalidResourceHandle;
}

int find(cuda::Driver::Function* function, cuda::Driver::Module module, const char* name) {
  if (name != std::string("program")) return cudaErrorInvalidValue;
  *function = reinterpret_cast<cuda::Driver::Function>(module);
  return 0;
}

int launch_program(cuda::Driver::Function function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                   unsigned, unsigned, CUstream_st* stream, void** arguments, void**) {
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
class Telling : public cuda::Runtime {
 public:
  explicit Telling(std::unique_ptr<cuda::Runtime> runtime) : runtime_(std::move(runtime)) {}
  std::string_view model() const override { return runtime_->model(); }
  int ordinal() const override { return runtime_->ordinal(); }
  std::byte* allocate(std::size_t bytes) override { return runtime_->allocate(bytes); }
  void release(std::byte* memory) noexcept override { runtime_->release(memory); }
  std::size_t free_memory() override { return runtime_->free_memory(); }
  void upload(std::byte* to, const void* from, std::size_t bytes) override { runtime_->upload(to, from, bytes); }
  void download(void* to, const std::byte* from, std::size_t bytes) override { runtime_->download(to, from, bytes); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override { runtime_->copy(to, from, bytes); }
  void launch(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments) override {
    launched = &kernel;
    runtime_->launch(kernel, blocks, arguments);
  }
  std::unique_ptr<cuda::CompiledProgram> compile(const std::string& source) override {
    return runtime_->compile(source);
  }
  void launch(const cuda::CompiledProgram& program, std::int64_t blocks, unsigned threads, const void* arguments,
              std::size_t bytes) override {
    launched_bytes = bytes;
    runtime_->launch(program, blocks, threads, arguments, bytes);
  }
  std::unique_ptr<cuda::Graph> record(const std::function<void()>& work) override { return runtime_->record(work); }
  void launch(const cuda::Graph& graph) override { runtime_->launch(graph); }
  void with_queue(const std::function<void(CUstream_st*)>& work) override { runtime_->with_queue(work); }
  void wait() override { runtime_->wait(); }

 private:
  std::unique_ptr<cuda::Runtime> runtime_;
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
std::unique_ptr<cuda::Runtime> played::runtime(int ordinal) {
  return std::make_unique<Telling>(cuda::open_gpu(ordinal));
}

}  // namespace etude::testing

namespace etude::cuda {

const Driver& driver() {
  static const Driver driver{[](const std::string& source, int) {
                               return std::vector<char>(source.c_str(), source.c_str() + source.size() + 1);
                             },
                             load, unload, find, launch_program};
  return driver;
}

}  // namespace etude::cuda

// ---- CUDA's functions ----

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpus;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= gpus) return said(cudaErrorInvalidDevice);
  std::strcpy(properties->name, "played");
  properties->major = 9;
  properties->minor = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpus) return said(cudaErrorInvalidDevice);
  current = device;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidDevice              ? "invalid device ordinal"
         : error == cudaErrorMemoryAllocation         ? "out of memory"
         : error == cudaErrorStreamCaptureUnsupported ? "operation not permitted when stream is capturing"
                                                      : "invalid argument";
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  if (used(current) + bytes > state.room) return said(cudaErrorMemoryAllocation);
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0xff, bytes);  // whatever was there
  state.blocks[static_cast<std::byte*>(*memory)] = {current, bytes};
  return cudaSuccess;
}

/// Waits for the GPU.
cudaError_t cudaFree(void* memory) {
  const std::lock_guard lock(state.mutex);
  const auto found = state.blocks.find(static_cast<std::byte*>(memory));
  if (found == state.blocks.end()) return said(cudaErrorInvalidValue);
  for (const auto& [handle, stream] : state.streams)
    if (stream->device == found->second.first) run_to(*stream, stream->queued);
  std::free(memory);
  state.blocks.erase(found);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  *memory = std::malloc(bytes);
  state.host_blocks[static_cast<std::byte*>(*memory)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  const std::lock_guard lock(state.mutex);
  if (state.host_blocks.erase(static_cast<std::byte*>(memory)) == 0) return said(cudaErrorInvalidValue);
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(state.mutex);
  *total = state.room;
  *free = state.room - used(current);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  if (!on_device(memory, bytes)) return said(cudaErrorInvalidValue);
  return queue(stream, [=] { std::memset(memory, value, bytes); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  const bool up = kind == cudaMemcpyHostToDevice, down = kind == cudaMemcpyDeviceToHost;
  if ((!down && !on_device(to, bytes)) || (!up && !on_device(from, bytes))) return said(cudaErrorInvalidValue);
  const auto copy = [=] {
    if ((!down && !on_device(to, bytes)) || (!up && !on_device(from, bytes)))
      throw std::logic_error("a copy of memory that is gone");
    std::memmove(to, from, bytes);
  };
  if (up && !on_host(from, bytes)) {  // memory that may change as soon as this returns
    if (captures()) return said(cudaErrorStreamCaptureUnsupported);
    return queue(stream, [to, own = copy_of(from, bytes)] { std::memcpy(to, own.data(), own.size()); });
  }
  if (const cudaError_t queued = queue(stream, copy); queued != cudaSuccess) return queued;
  return down && !on_host(to, bytes) ? cudaStreamSynchronize(stream) : cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const std::lock_guard lock(state.mutex);
  if (flags != cudaStreamNonBlocking) return said(cudaErrorInvalidValue);
  const auto made = std::make_shared<CUstream_st>();
  made->device = current;
  *stream = made.get();
  state.streams[*stream] = made;
  return cudaSuccess;
}

/// What is queued there is done nevertheless.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  if (!state.streams.contains(stream)) return said(cudaErrorInvalidResourceHandle);
  run_to(*stream, stream->queued);
  state.streams.erase(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  if (!state.streams.contains(stream)) return said(cudaErrorInvalidResourceHandle);
  if (stream->captured) {
    stream->valid = false;
    return said(cudaErrorStreamCaptureUnsupported);
  }
  run_to(*stream, stream->queued);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const std::lock_guard lock(state.mutex);
  *event = new CUevent_st;
  ++state.events;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(state.mutex);
  delete event;
  --state.events;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  const auto found = state.streams.find(stream);
  if (found == state.streams.end()) return said(cudaErrorInvalidResourceHandle);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  *event = {found->second, stream->queued};
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  if (event->stream) run_to(*event->stream, event->position);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  if (stream->device != current) return said(cudaErrorInvalidResourceHandle);
  const cuda::Kernel* kernel = launched;
  if (kernel->function != function || kernel->threads != block.x || grid.x == 0 || shared != 0)
    return said(cudaErrorInvalidValue);
  return queue(stream, [kernel, blocks = grid.x, own = copy_of(arguments[0], kernel->arguments_bytes)] {
    state.executor.launch(*kernel, blocks, own.data());
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(state.mutex);
  if (capturing || mode != cudaStreamCaptureModeThreadLocal) return said(cudaErrorStreamCaptureUnsupported);
  stream->captured = std::make_unique<Work>();
  stream->valid = true;
  capturing = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(state.mutex);
  const std::unique_ptr<Work> captured = std::move(stream->captured);
  *graph = nullptr;
  capturing = nullptr;
  if (!captured || !stream->valid) return said(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st{std::make_shared<const Work>(std::move(*captured))};
  ++state.graphs;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  const std::lock_guard lock(state.mutex);
  if (flags != 0) return said(cudaErrorInvalidValue);
  if (!state.room_for_graphs) return said(cudaErrorMemoryAllocation);
  *executable = new CUgraphExec_st{current, graph->work};
  ++state.graphs;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard lock(state.mutex);
  delete graph;
  --state.graphs;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const std::lock_guard lock(state.mutex);
  delete executable;
  --state.graphs;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  if (executable->device != current || stream->device != current) return said(cudaErrorInvalidResourceHandle);
  return queue(stream, [work = executable->work] {
    for (const std::function<void()>& one : *work) one();
  });
}
