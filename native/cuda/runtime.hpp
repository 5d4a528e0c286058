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
#include "cuda/vendor_convolution.hpp"

struct CUstream_st;

namespace etude::cuda {

/// A GPU function that was compiled with the library.
struct Kernel {
  const char* name;
  const void* function;  ///< in the runtime's form (cuda/kernel.hpp)
  unsigned threads;      ///< per block
  std::size_t arguments_bytes;
  std::size_t shared_bytes;  ///< that the threads of a block share
  bool threads_meet;         ///< whether they wait for each other
};

/// A GPU function that was compiled at run time.
class CompiledProgram {
 public:
  virtual ~CompiledProgram() = default;
};

class Chooser;

/// Recorded work, which can be enqueued again as one unit.
class Graph {
 public:
  virtual ~Graph() = default;
};

/// A second queue of a GPU, whose work runs beside that of the runtime's queue. The thread that calls it holds the
/// runtime's lock.
class SideQueue {
 public:
  /// Waits for its work.
  virtual ~SideQueue() = default;
  /// The queue itself.
  virtual CUstream_st* stream() = 0;
  /// Makes later work of this queue wait for all current work of the runtime's queue.
  virtual void follow() = 0;
  /// Marks the end of its current work by a number. Numbers are small; a later mark replaces an earlier one of the same
  /// number.
  virtual void mark(std::size_t number) = 0;
  /// Makes later work of the runtime's queue wait for the work before a mark.
  virtual void lead(std::size_t number) = 0;
  /// Whether the work before a mark is done. It does not wait.
  virtual bool reached(std::size_t number) = 0;
  /// Returns when its work is done, or cannot be done.
  virtual void wait() noexcept = 0;
};

/// The interface to one GPU: memory, and a queue of work that runs in order while the host continues. Any thread may
/// call it; calls of other threads wait while one thread records. Class Cuda uses the GPU only through this interface;
/// tests implement it on the host, and count its calls.
class Runtime {
 public:
  virtual ~Runtime() = default;
  /// "NVIDIA H100 80GB HBM3".
  virtual std::string_view model() const = 0;
  /// Its number in CUDA.
  virtual int ordinal() const = 0;

  /// Zeroed memory, aligned to 256 bytes. Throws Error(state) if there is not enough.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  /// Free device memory, in bytes.
  virtual std::size_t free_memory() = 0;
  /// Makes this GPU the current one of the calling thread, for libraries that use that one.
  virtual void make_current() {}
  /// Called before a library connects these GPUs: lets them access this GPU's memory, and frees unused memory for the
  /// library.
  virtual void share_memory(std::span<const int> gpus) { static_cast<void>(gpus); }
  /// Copies from the host's memory, which may change as soon as this returns. It waits only for an earlier upload that
  /// used the same pinned memory.
  virtual void upload(std::byte* to, const void* from, std::size_t bytes) = 0;
  /// Copies to the host's memory, after waiting for the queue.
  virtual void download(void* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

  /// Enqueues `blocks` blocks of a kernel on a copy of its arguments.
  virtual void launch(const Kernel& kernel, std::int64_t blocks, const void* arguments) = 0;
  /// Chooses among the algorithms of the GPU's vendor; null if nothing is to be measured.
  virtual Chooser* chooser() { return nullptr; }
  /// The workspace that multiply() needs, in bytes; 0 if it computes nothing.
  virtual std::size_t product_workspace() const { return 0; }
  /// Enqueues a product of the GPU's vendor; false if the vendor does not support it. The answer is the same for all
  /// products of one kind.
  virtual bool multiply(const MatrixProduct&) { return false; }
  /// The result that multiply() would return.
  virtual bool multiplies(const MatrixProduct&) { return false; }
  /// The workspace of the vendor's convolutions, in bytes; 0 if the vendor computes none.
  virtual std::size_t convolution_workspace() const { return 0; }
  /// The algorithms by which the vendor computes a convolution, by the vendor's numbers. During a recording, none for a
  /// new kind of convolution.
  virtual std::vector<int> convolution_algorithms(const VendorConvolution&) { return {}; }
  /// Enqueues a convolution by one of them; false if the vendor's library fails.
  virtual bool convolve(const VendorConvolution&, int) { return false; }
  /// Compiles texts of cuda/program_source.hpp.
  virtual std::vector<std::unique_ptr<CompiledProgram>> compile(std::span<const std::string> sources) = 0;
  virtual void launch(const CompiledProgram& program, std::int64_t blocks, unsigned threads, const void* arguments,
                      std::size_t bytes) = 0;

  /// Records the work that `work` enqueues, instead of running it. Null if the GPU has not enough memory for the graph,
  /// or the graph is too long.
  virtual std::unique_ptr<Graph> record(const std::function<void()>& work) = 0;
  virtual void launch(const Graph& graph) = 0;
  /// Throws Error(state) with the first failed call, if the GPU is lost. For `what`, a failed call of a library.
  virtual void expect_alive(const char*) {}
  /// Between lock() and unlock(), calls of other threads wait. Of several runtimes, the one with the least ordinal is
  /// locked first.
  virtual void lock() = 0;
  virtual void unlock() noexcept = 0;
  /// The queue itself, for the thread that holds the lock.
  virtual CUstream_st* stream() = 0;
  /// A second queue. The runtime must outlive it.
  virtual std::unique_ptr<SideQueue> side_queue() = 0;
  /// Returns when all queued work is done.
  virtual void wait() = 0;

  /// Begins a range of the calling thread's work, which the vendor's profilers show, and ends the innermost one.
  virtual void begin_range(const char* name) { static_cast<void>(name); }
  virtual void end_range() {}
};

}  // namespace etude::cuda
