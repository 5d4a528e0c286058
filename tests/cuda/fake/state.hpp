#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../fake_cuda.hpp"
#include "../host_runtime.hpp"
#include "cuda/driver.hpp"

// The state of the fake CUDA.

using Work = std::vector<std::function<void()>>;

struct CUstream_st {
  int device;
  bool early;  // executes work at once
  std::deque<std::function<void()>> queue;
  std::size_t queued = 0, done = 0;  // work in execution counts as done
  bool is_working = false;
  std::unique_ptr<Work> captured;
  bool valid = true;  // whether the capture is valid
};
/// A pool. Its memory is among the blocks of the GPU.
struct CUmemPoolHandle_st {
  int device = 0;
  std::uint64_t threshold = 0;
  std::set<int> readers;  // the other GPUs that can access it
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

namespace etude::testing::fake {

inline constexpr int gpus = 2;

/// Device memory. The host's calls and the stream's work reach the same state at different times.
struct Block {
  int device;
  std::size_t bytes;  // requested
  std::size_t capacity = bytes;
  cudaMemPool_t pool = nullptr;  // null: of cudaMalloc
  cudaStream_t freed_on = nullptr;
  bool is_allocated = true;  // after the host's calls so far
  bool is_usable = true;     // by the work that streams execute now
};

/// All state of the fake CUDA. One thread at a time may call it.
struct State {
  std::recursive_mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<CUstream_st>> streams;
  std::map<const std::byte*, Block> blocks;
  std::map<cudaMemPool_t, std::shared_ptr<CUmemPoolHandle_st>> pools;
  std::map<const std::byte*, std::size_t> host_blocks;
  std::map<cuda::Driver::Module, std::shared_ptr<cuda::CUmod_st>> modules;
  int events = 0, graphs = 0;
  std::size_t room = std::size_t{1} << 30;
  bool room_for_graphs = true, early = false;
  std::uint64_t pace = 0;  // the state of a generator; 0: work waits
  bool has_pools = true, peers_reach_each_other = true;
  std::size_t uploaded = 0, reservations = 0;
  Ranges ranges;
  std::int64_t calls_to_fault = 0, items_to_fault = 0;  // 0: no call fails
  cudaError_t fault = cudaSuccess;
  bool stays = false, lost = false;  // whether every call fails like the first
  bool has_products = false, has_convolutions = false;
  std::string measured_model;
  std::shared_ptr<cuda::Choices> choices;
  HostRuntime executor;
};
inline State state;

inline thread_local int current = 0;
inline thread_local cudaError_t last_error = cudaSuccess;
inline thread_local cudaStream_t capturing = nullptr;
/// The launched kernel, or program: its function and the size of its arguments, which nvcc or NVRTC would know.
inline thread_local const cuda::Kernel* launched = nullptr;
inline thread_local std::size_t launched_bytes = 0;

/// Stores an error as the thread's last error.
inline cudaError_t said(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

/// The error of a call, if a test chose it, or if the GPUs are lost.
inline cudaError_t fault() {
  const std::lock_guard lock(state.mutex);
  if (!state.lost && (state.calls_to_fault == 0 || --state.calls_to_fault > 0)) return cudaSuccess;
  state.lost = state.stays;
  return said(state.fault);
}

/// The result of a successful call: on a lost GPU it is the GPU's error.
inline cudaError_t result() { return state.lost ? said(state.fault) : cudaSuccess; }

/// For calls that a capture forbids: invalidates this thread's capture.
inline bool captures() {
  if (capturing) capturing->valid = false;
  return capturing != nullptr;
}

/// Executes the work of a stream up to `position`; on a lost GPU, executes nothing.
inline void run_to(CUstream_st& stream, std::size_t position) {
  if (stream.is_working && position >= stream.done) throw std::logic_error("streams wait for each other");
  while (stream.done < position) {
    const std::function<void()> work = std::move(stream.queue.front());
    stream.queue.pop_front();
    ++stream.done;
    const std::shared_ptr<bool> working(&(stream.is_working = true), [](bool* is_working) { *is_working = false; });
    if (state.items_to_fault > 0 && --state.items_to_fault == 0) state.lost = true;
    if (!state.lost) work();
  }
}

/// Executes some work of a random stream, if a test requires it.
inline void work_a_little() {
  if (state.pace == 0 || state.streams.empty()) return;
  const auto random = [] { return static_cast<std::size_t>((state.pace = state.pace * 48271 % 2147483647) / 7); };
  CUstream_st& stream =
      *std::next(state.streams.begin(), static_cast<std::ptrdiff_t>(random() % state.streams.size()))->second;
  run_to(stream, stream.done + random() % (stream.queued - stream.done + 1));
}

/// Whether the host may pass device memory to a call.
bool is_allocated(const void* memory, std::size_t bytes);
/// Whether the work of a stream may use it now.
bool is_usable(const void* memory, std::size_t bytes);

/// The effect of a synchronization: pools of the GPU free memory beyond their thresholds.
void shrink_pools(int device);

/// Enqueues work on a stream, or adds it to the stream's capture.
inline cudaError_t queue(cudaStream_t stream, std::function<void()> work) {
  const auto found = state.streams.find(stream);
  if (found == state.streams.end()) return said(cudaErrorInvalidResourceHandle);
  if (stream->captured) {
    stream->captured->push_back(std::move(work));
  } else {
    stream->queue.push_back(std::move(work));
    ++stream->queued;
    if (stream->early) run_to(*stream, stream->queued);
    work_a_little();
  }
  return cudaSuccess;
}

inline std::vector<std::byte> copy_of(const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  return {first, first + bytes};
}

}  // namespace etude::testing::fake
