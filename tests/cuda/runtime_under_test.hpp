#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/nccl.hpp"
#include "cuda/runtime.hpp"

namespace etude::testing {

/// The runtime of the tests of class Cuda: fake GPUs on the host, or in etude_gpu_tests the GPUs of this machine.
std::unique_ptr<cuda::Runtime> runtime_under_test(int number = 0);
/// A runtime whose vendor has convolutions: the fake cuDNN, or the installed one, if there is one.
std::unique_ptr<cuda::Runtime> convolving_runtime_under_test();
/// The number of these GPUs.
int gpus_under_test();
/// The fake NCCL, or the installed one. Throws Error(state) if none is installed.
const cuda::Nccl::Functions& nccl_under_test();

/// Forwards all calls to another runtime.
class PassingRuntime : public cuda::Runtime {
 public:
  explicit PassingRuntime(std::unique_ptr<cuda::Runtime> runtime) : runtime_(std::move(runtime)) {}
  std::string_view model() const override { return runtime_->model(); }
  int ordinal() const override { return runtime_->ordinal(); }
  std::byte* allocate(std::size_t bytes) override { return runtime_->allocate(bytes); }
  void release(std::byte* memory) noexcept override { runtime_->release(memory); }
  std::size_t free_memory() override { return runtime_->free_memory(); }
  void share_memory(std::span<const int> gpus) override { runtime_->share_memory(gpus); }
  void upload(std::byte* to, const void* from, std::size_t bytes) override { runtime_->upload(to, from, bytes); }
  void download(void* to, const std::byte* from, std::size_t bytes) override { runtime_->download(to, from, bytes); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override { runtime_->copy(to, from, bytes); }
  void launch(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments) override {
    runtime_->launch(kernel, blocks, arguments);
  }
  cuda::Chooser* chooser() override { return runtime_->chooser(); }
  std::size_t product_workspace() const override { return runtime_->product_workspace(); }
  bool multiply(const cuda::MatrixProduct& product) override { return runtime_->multiply(product); }
  bool multiplies(const cuda::MatrixProduct& product) override { return runtime_->multiplies(product); }
  std::size_t convolution_workspace() const override { return runtime_->convolution_workspace(); }
  std::vector<int> convolution_algorithms(const cuda::VendorConvolution& convolution) override {
    return runtime_->convolution_algorithms(convolution);
  }
  bool convolve(const cuda::VendorConvolution& convolution, int algorithm) override {
    return runtime_->convolve(convolution, algorithm);
  }
  std::vector<std::unique_ptr<cuda::CompiledProgram>> compile(std::span<const std::string> texts) override {
    return runtime_->compile(texts);
  }
  void launch(const cuda::CompiledProgram& program, std::int64_t blocks, unsigned threads, const void* arguments,
              std::size_t bytes) override {
    runtime_->launch(program, blocks, threads, arguments, bytes);
  }
  std::unique_ptr<cuda::Graph> record(const std::function<void()>& work) override { return runtime_->record(work); }
  void launch(const cuda::Graph& graph) override { runtime_->launch(graph); }
  void expect_alive(const char* what) override { runtime_->expect_alive(what); }
  void lock() override { runtime_->lock(); }
  void unlock() noexcept override { runtime_->unlock(); }
  CUstream_st* stream() override { return runtime_->stream(); }
  void make_current() override { runtime_->make_current(); }
  std::unique_ptr<cuda::SideQueue> side_queue() override { return runtime_->side_queue(); }
  void wait() override { runtime_->wait(); }
  void begin_range(const char* name) override { runtime_->begin_range(name); }
  void end_range() override { runtime_->end_range(); }

 private:
  std::unique_ptr<cuda::Runtime> runtime_;
};

/// Counts the calls. While work is recorded, it throws std::logic_error for calls that would make the host wait, or
/// that cannot be replayed.
class CountingRuntime : public PassingRuntime {
 public:
  struct Counts {
    int allocations = 0, uploads = 0, downloads = 0, copies = 0, kernels = 0, programs = 0, compiled = 0, graphs = 0;
    int products = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  Counts counts;
  /// The number of programs in each call of compile().
  std::vector<std::size_t> compilations;
  /// The texts of all programs that were compiled.
  std::vector<std::string> sources;
  /// The most device memory that it reports as free.
  std::size_t room = std::numeric_limits<std::size_t>::max();

  CountingRuntime() : CountingRuntime(runtime_under_test()) {}
  explicit CountingRuntime(std::unique_ptr<cuda::Runtime> runtime) : PassingRuntime(std::move(runtime)) {}

  std::byte* allocate(std::size_t bytes) override {
    expect_not_recording("memory is allocated");
    ++counts.allocations;
    return PassingRuntime::allocate(bytes);
  }
  std::size_t free_memory() override { return std::min(room, PassingRuntime::free_memory()); }
  void upload(std::byte* to, const void* from, std::size_t bytes) override {
    expect_not_recording("the host's memory is read");
    ++counts.uploads;
    PassingRuntime::upload(to, from, bytes);
  }
  void download(void* to, const std::byte* from, std::size_t bytes) override {
    expect_not_recording("the host waits");
    ++counts.downloads;
    PassingRuntime::download(to, from, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    ++counts.copies;
    PassingRuntime::copy(to, from, bytes);
  }
  void launch(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments) override {
    ++counts.kernels;
    PassingRuntime::launch(kernel, blocks, arguments);
  }
  bool multiply(const cuda::MatrixProduct& product) override {
    const bool queued = PassingRuntime::multiply(product);
    counts.products += queued;
    return queued;
  }
  std::vector<std::unique_ptr<cuda::CompiledProgram>> compile(std::span<const std::string> texts) override {
    expect_not_recording("a program is compiled");
    counts.compiled += static_cast<int>(texts.size());
    compilations.push_back(texts.size());
    sources.insert(sources.end(), texts.begin(), texts.end());
    return PassingRuntime::compile(texts);
  }
  void launch(const cuda::CompiledProgram& program, std::int64_t blocks, unsigned threads, const void* arguments,
              std::size_t bytes) override {
    ++counts.programs;
    PassingRuntime::launch(program, blocks, threads, arguments, bytes);
  }
  std::unique_ptr<cuda::Graph> record(const std::function<void()>& work) override {
    return PassingRuntime::record([&] {
      recording_ = true;
      const std::shared_ptr<void> end(nullptr, [this](void*) { recording_ = false; });
      work();
    });
  }
  void launch(const cuda::Graph& graph) override {
    ++counts.graphs;
    PassingRuntime::launch(graph);
  }
  void wait() override {
    expect_not_recording("the host waits");
    PassingRuntime::wait();
  }

 private:
  void expect_not_recording(const char* what) const {
    if (recording_) throw std::logic_error(std::string(what) + " while work is recorded");
  }

  bool recording_ = false;
};

}  // namespace etude::testing
