#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "fake/state.hpp"

// The fake of CUDA's runtime.

namespace {

using namespace etude;
using namespace etude::testing::fake;

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

std::size_t used(int device) {
  std::size_t bytes = 0;
  for (const auto& [memory, block] : state.blocks) bytes += block.first == device ? block.second : 0;
  return bytes;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  *count = gpus;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  if (device < 0 || device >= gpus) return said(cudaErrorInvalidDevice);
  std::strcpy(properties->name, "fake");
  properties->major = 9;
  properties->minor = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  if (device < 0 || device >= gpus) return said(cudaErrorInvalidDevice);
  current = device;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidDevice              ? "invalid device ordinal"
         : error == cudaErrorMemoryAllocation         ? "out of memory"
         : error == cudaErrorIllegalAddress           ? "an illegal memory access was encountered"
         : error == cudaErrorLaunchOutOfResources     ? "too many resources requested for launch"
         : error == cudaErrorStreamCaptureUnsupported ? "operation not permitted when stream is capturing"
                                                      : "invalid argument";
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  if (used(current) + bytes > state.room) return said(cudaErrorMemoryAllocation);
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0xff, bytes);  // arbitrary contents
  state.blocks[static_cast<std::byte*>(*memory)] = {current, bytes};
  return cudaSuccess;
}

/// Waits for the GPU.
cudaError_t cudaFree(void* memory) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  const auto found = state.blocks.find(static_cast<std::byte*>(memory));
  if (found == state.blocks.end()) return said(cudaErrorInvalidValue);
  for (const auto& [handle, stream] : state.streams)
    if (stream->device == found->second.first) run_to(*stream, stream->queued);
  std::free(memory);
  state.blocks.erase(found);
  return result();
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  *memory = std::malloc(bytes);
  state.host_blocks[static_cast<std::byte*>(*memory)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  if (state.host_blocks.erase(static_cast<std::byte*>(memory)) == 0) return said(cudaErrorInvalidValue);
  std::free(memory);
  return result();
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  *total = state.room;
  *free = state.room - used(current);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (!on_device(memory, bytes)) return said(cudaErrorInvalidValue);
  return queue(stream, [=] { std::memset(memory, value, bytes); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  const bool up = kind == cudaMemcpyHostToDevice, down = kind == cudaMemcpyDeviceToHost;
  if ((!down && !on_device(to, bytes)) || (!up && !on_device(from, bytes))) return said(cudaErrorInvalidValue);
  const auto copy = [=] {
    if ((!down && !on_device(to, bytes)) || (!up && !on_device(from, bytes)))
      throw std::logic_error("a copy of memory that is gone");
    std::memmove(to, from, bytes);
    if (up) state.uploaded += bytes;
  };
  if (up && !on_host(from, bytes)) {  // memory that may change as soon as this returns
    if (captures()) return said(cudaErrorStreamCaptureUnsupported);
    return queue(stream, [to, own = copy_of(from, bytes)] {
      std::memcpy(to, own.data(), own.size());
      state.uploaded += own.size();
    });
  }
  if (const cudaError_t queued = queue(stream, copy); queued != cudaSuccess) return queued;
  return down && !on_host(to, bytes) ? cudaStreamSynchronize(stream) : cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (flags != cudaStreamNonBlocking) return said(cudaErrorInvalidValue);
  const auto made = std::make_shared<CUstream_st>();
  made->device = current;
  made->early = state.early;
  *stream = made.get();
  state.streams[*stream] = made;
  return cudaSuccess;
}

/// Queued work is still executed.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  if (!state.streams.contains(stream)) return said(cudaErrorInvalidResourceHandle);
  run_to(*stream, stream->queued);
  state.streams.erase(stream);
  return result();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (!state.streams.contains(stream)) return said(cudaErrorInvalidResourceHandle);
  if (stream->captured) {
    stream->valid = false;
    return said(cudaErrorStreamCaptureUnsupported);
  }
  run_to(*stream, stream->queued);
  return result();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  *event = new CUevent_st;
  ++state.events;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(state.mutex);
  delete event;
  --state.events;
  return result();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  const auto found = state.streams.find(stream);
  if (found == state.streams.end()) return said(cudaErrorInvalidResourceHandle);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  *event = {found->second, stream->queued};
  return cudaSuccess;
}

/// Waits for the current position of the event; later records do not matter.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (flags != 0) return said(cudaErrorInvalidValue);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);  // the work of another stream, which is not captured
  return queue(stream, [of = event->stream, position = event->position] {
    if (of) run_to(*of, position);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  if (event->stream) run_to(*event->stream, event->position);
  return result();
}

/// Everything that is queued takes a millisecond.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (!begin->stream || begin->stream != end->stream || end->stream->done < end->position)
    return said(cudaErrorInvalidValue);
  *milliseconds = static_cast<float>(end->position - begin->position);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
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
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
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
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  if (!captured || !stream->valid) return said(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st{std::make_shared<const Work>(std::move(*captured))};
  ++state.graphs;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  if (nodes) return said(cudaErrorInvalidValue);
  *count = graph->work->size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
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
  return result();
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const std::lock_guard lock(state.mutex);
  delete executable;
  --state.graphs;
  return result();
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  return executable->device != current || stream->device != current ? said(cudaErrorInvalidResourceHandle)
                                                                    : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (executable->device != current || stream->device != current) return said(cudaErrorInvalidResourceHandle);
  return queue(stream, [work = executable->work] {
    for (const std::function<void()>& one : *work) one();
  });
}
