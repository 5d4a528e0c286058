#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/matrix_product.hpp"

struct CUstream_st;

namespace etude::cuda {

/// A function that a GPU runs, compiled with the library.
struct Kernel {
  const char* name;
  const void* function;  ///< as the runtime wants it (cuda/kernel.hpp)
  unsigned threads;      ///< of a block
  std::size_t arguments_bytes;
  std::size_t shared_bytes;  ///< that the threads of a block share
  bool threads_meet;         ///< whether they wait for each other
};

/// A function that was compiled when the program ran.
class CompiledProgram {
 public:
  virtual ~CompiledProgram() = default;
};

/// Work that was recorded and can be queued again as one.
class Graph {
 public:
  virtual ~Graph() = default;
};

/// What Étude asks of one GPU: memory, and a queue of work that is done in order while the host goes on. Any thread may
/// ask; what others ask for while one records waits until that is done. Class Cuda
/// knows the GPU by this alone; tests give it one that runs on the host and counts.
class Runtime {
 public:
  virtual ~Runtime() = default;
  /// "NVIDIA H100 80GB HBM3".
  virtual std::string_view model() const = 0;
  /// Its number, as CUDA counts GPUs.
  virtual int ordinal() const = 0;

  /// Zeroed memory, aligned to 256 bytes. Throws Error(state) if there is not as much.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  /// Bytes that allocate() could give.
  virtual std::size_t free_memory() = 0;
  /// From the host's memory, which may change as soon as this returns. Waits for nothing but an upload some turns back.
  virtual void upload(std::byte* to, const void* from, std::size_t bytes) = 0;
  /// To the host's memory: waits for the queue.
  virtual void download(void* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

  /// Queues `blocks` blocks of a kernel on a copy of its arguments.
  virtual void launch(const Kernel& kernel, std::int64_t blocks, const void* arguments) = 0;
  /// Bytes of workspace that multiply() wants; 0 where it computes nothing.
  virtual std::size_t product_workspace() const { return 0; }
  /// Queues a product as the GPU's vendor computes it; false where there is no way of doing that. What it says of a
  /// product it says of all like it.
  virtual bool multiply(const MatrixProduct&) { return false; }
  /// Compiles texts of cuda/program_source.hpp.
  virtual std::vector<std::unique_ptr<CompiledProgram>> compile(std::span<const std::string> sources) = 0;
  virtual void launch(const CompiledProgram& program, std::int64_t blocks, unsigned threads, const void* arguments,
                      std::size_t bytes) = 0;

  /// Records what `work` queues, instead of doing it. Null if the GPU has no room for the graph, or it is too long.
  virtual std::unique_ptr<Graph> record(const std::function<void()>& work) = 0;
  virtual void launch(const Graph& graph) = 0;
  /// Throws Error(state), which names the call that failed first, if the GPU is lost: for `what`, which a library
  /// failed to do.
  virtual void expect_alive(const char*) {}
  /// What other threads ask for between both waits. Of several, the least ordinal is locked first.
  virtual void lock() = 0;
  virtual void unlock() noexcept = 0;
  /// The queue itself, for the thread that has locked it.
  virtual CUstream_st* stream() = 0;
  /// Returns when everything that was queued is done.
  virtual void wait() = 0;
};

}  // namespace etude::cuda
