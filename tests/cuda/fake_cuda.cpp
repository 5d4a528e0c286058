#include <cuda_runtime.h>

#include <cstring>
#include <stdexcept>

#include "fake/state.hpp"

// The fake of CUDA's runtime.

using namespace etude;
using namespace etude::testing::fake;

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

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  if (device < 0 || device >= gpus) return said(cudaErrorInvalidDevice);
  if (attribute != cudaDevAttrMemoryPoolsSupported) return said(cudaErrorInvalidValue);
  *value = state.has_pools;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  if (device < 0 || device >= gpus || peer < 0 || peer >= gpus) return said(cudaErrorInvalidDevice);
  *can = device != peer && state.peers_reach_each_other;
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

int nvtxRangePushA(const char* message) {
  const std::lock_guard lock(state.mutex);
  auto& [begun, open] = state.ranges;
  std::string path;
  for (const std::string& outer : open) path += outer + '/';
  begun.push_back(path + message);
  open.emplace_back(message);
  return static_cast<int>(open.size()) - 1;
}
int nvtxRangePop() {
  const std::lock_guard lock(state.mutex);
  std::vector<std::string>& open = state.ranges.open;
  if (open.empty()) return -1;
  open.pop_back();
  return static_cast<int>(open.size());
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

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
  shrink_pools(stream->device);
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
  if (!event->stream) return result();
  run_to(*event->stream, event->position);
  shrink_pools(event->stream->device);
  return result();
}

/// Each call gives the stream time for one item.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  if (!event->stream) return result();
  if (event->stream->done < event->position) run_to(*event->stream, event->stream->done + 1);
  const cudaError_t error = result();
  return error == cudaSuccess && event->stream->done < event->position ? said(cudaErrorNotReady) : error;
}

/// Every queued item takes a millisecond.
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
