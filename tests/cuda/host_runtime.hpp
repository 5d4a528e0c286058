#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"
#include "host_stream.hpp"

namespace etude::testing {

/// A fake GPU on the host. Kernels run block after block and thread after thread; a thread runs up to its next sync.
/// This machine's compiler compiles programs. Throws std::logic_error for copies of memory that was not allocated here,
/// and if threads of a block wait for others that never come. Its vendor, if it has one, multiplies one number after
/// another.
class HostRuntime : public cuda::Runtime, public HostStream {
 public:
  explicit HostRuntime(bool has_vendor = false, int ordinal = 0);
  /// Whether a kernel's first block runs first.
  bool first_block_first = false;
  ~HostRuntime() override;

  std::string_view model() const override { return "host"; }
  int ordinal() const override { return ordinal_; }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* memory) noexcept override;
  std::size_t free_memory() override { return std::size_t{1} << 30; }
  void upload(std::byte* to, const void* from, std::size_t bytes) override;
  void download(void* to, const std::byte* from, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void launch(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments) override;
  std::size_t product_workspace() const override { return has_vendor_ ? 4096 : 0; }
  /// False for matrices of one row, and for a bias in float64, like a vendor without support for them.
  bool multiply(const cuda::MatrixProduct& product) override;
  bool multiplies(const cuda::MatrixProduct& product) override {
    return has_vendor_ && product.m != 1 && !(product.bias && product.dtype == DType::float64);
  }
  std::vector<std::unique_ptr<cuda::CompiledProgram>> compile(std::span<const std::string> sources) override;
  void launch(const cuda::CompiledProgram& program, std::int64_t blocks, unsigned threads, const void* arguments,
              std::size_t bytes) override;
  std::unique_ptr<cuda::Graph> record(const std::function<void()>& work) override;
  void launch(const cuda::Graph& graph) override;
  void lock() override { ++locks_; }
  void unlock() noexcept override { --locks_; }
  bool locked() const override { return locks_ > 0; }
  /// The runtime itself, as a HostStream.
  CUstream_st* stream() override { return handle(*this); }
  /// A queue that executes its work only when the runtime's queue waits for it.
  std::unique_ptr<cuda::SideQueue> side_queue() override;
  void wait() override {}

  int gpu() const override { return ordinal_; }
  /// Runs `work`, or records it.
  void queue(std::function<void()> work) override;
  std::function<void()> so_far() override {
    return [] {};
  }
  bool recording() const override { return recording_ != nullptr; }
  /// Throws unless the range lies in one block that was allocated here.
  void expect_here(const std::byte* memory, std::size_t bytes) const override;

  static CUstream_st* handle(HostStream& stream) { return reinterpret_cast<CUstream_st*>(&stream); }

 private:
  struct Recorded;
  class Fibers;
  void run_blocks(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments);

  bool has_vendor_;
  int ordinal_;
  int locks_ = 0;
  std::map<const std::byte*, std::size_t> blocks_;
  std::unique_ptr<Recorded> recording_;
  std::unique_ptr<Fibers> fibers_;
};

/// Runs a program in the form for GPUs, one thread after another. Threads must not read each other's data.
void run_threads(const std::string& source, std::int64_t blocks, unsigned threads, const void* arguments);

}  // namespace etude::testing
