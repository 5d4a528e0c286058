#include "cuda/gpu_runtime.hpp"

#include <cuda_runtime.h>
#if __has_include(<nvtx3/nvToolsExt.h>)  // some packages of CUDA's compiler lack it
#include <nvtx3/nvToolsExt.h>
#define ETUDE_NVTX
#endif

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "cuda/device_memory.hpp"
#include "cuda/driver.hpp"
#include "cuda/expect.hpp"
#include "cuda/profile.hpp"
#include "cuda/program_compiler.hpp"
#include "cuda/side_queue.hpp"
#include "cuda/staging.hpp"
#include "cuda/stopwatch.hpp"
#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"

namespace etude::cuda {
namespace {

/// The most nodes of a graph: a node takes about 1 kB of device memory and of the host's memory.
constexpr std::size_t most_nodes = std::size_t{1} << 16;

/// The oldest GPUs for which kernels are compiled.
constexpr int least_architecture = 80;

void expect_driver(int error, const char* what) { expect(static_cast<cudaError_t>(error), what); }

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};

struct GpuGraph : Graph {
  cudaGraphExec_t executable = nullptr;
  ~GpuGraph() override {
    if (executable) cudaGraphExecDestroy(executable);
  }
};

class GpuRuntime : public Runtime {
 public:
  GpuRuntime(int ordinal, bool tf32)
      : ordinal_(ordinal), owned_stream_{made_stream(ordinal)}, memory_(ordinal, owned_stream_.stream) {
    cudaDeviceProp properties;
    expect(cudaGetDeviceProperties(&properties, ordinal), "reading a GPU's properties", ErrorKind::state);
    model_ = properties.name;
    architecture_ = properties.major * 10 + properties.minor;
    profile_ = Profile::wanted();
    if (auto choices = driver().choices(tf32 ? model_ + ", TF32" : model_))
      chooser_.emplace(
          std::move(choices), [this](const Chooser::Work& work) { return milliseconds_of(work); },
          [this] {
            const std::lock_guard lock(mutex_);
            return !memory_.holds();
          });
    const auto explain = [](const char* what, bool no_memory) {
      fail_if_lost(what);
      if (no_memory) fail_call(cudaErrorMemoryAllocation, what);
    };
    if (const Cudnn::Functions* functions = chooser_ ? driver().convolutions() : nullptr)
      convolutions_.emplace(*functions, tf32, stream_, explain);
    if (const CublasLt::Functions* functions = driver().products()) {
      try {
        products_.emplace(*functions, tf32, explain, chooser());
      } catch (const CublasLt::Unusable& unusable) {
        print_warning({}, std::string(unusable.what()) + " Until then products are computed by Étude's own kernels.");
      }
    }
  }
  ~GpuRuntime() override {
    cudaSetDevice(ordinal_);
    cudaStreamSynchronize(stream_);  // uploads read memory that is freed next
    products_.reset();
    convolutions_.reset();
    profile_.reset();
  }

  std::string_view model() const override { return model_; }
  int ordinal() const override { return ordinal_; }

  std::byte* allocate(std::size_t bytes) override {
    const Turn turn(*this);
    return memory_.allocate(bytes);
  }
  void release(std::byte* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    cudaSetDevice(ordinal_);
    memory_.free(memory);
  }

  std::size_t free_memory() override {
    const Turn turn(*this);
    return memory_.available();
  }
  void share_memory(std::span<const int> gpus) override {
    const Turn turn(*this);
    memory_.trim();
    memory_.share_with(gpus);
  }
  void upload(std::byte* to, const void* from, std::size_t bytes) override {
    const Turn turn(*this);
    const auto* first = static_cast<const std::byte*>(from);
    for (std::size_t done = 0; done < bytes; done += Staging::largest)
      staging_.upload(to + done, first + done, std::min(bytes - done, Staging::largest), stream_);
  }
  void download(void* to, const std::byte* from, std::size_t bytes) override {
    const Turn turn(*this);
    staging_.download(to, from, bytes, stream_);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    const Turn turn(*this);
    expect(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "a copy");
  }

  void launch(const Kernel& kernel, std::int64_t blocks, const void* arguments) override {
    const Turn turn(*this);
    void* parameters[] = {const_cast<void*>(arguments)};
    const Profile::Span span(profile_.get(), kernel.name, stream_);
    expect(cudaLaunchKernel(kernel.function, grid(blocks), dim3(kernel.threads), parameters, 0, stream_), kernel.name);
  }

  Chooser* chooser() override { return chooser_ ? &*chooser_ : nullptr; }
  std::size_t product_workspace() const override { return products_ ? CublasLt::workspace_bytes : 0; }
  bool multiply(const MatrixProduct& product) override {
    const Turn turn(*this);
    if (!products_) return false;
    products_->choose(product, stream_);
    const Profile::Span span(profile_.get(), product, stream_);
    return products_->multiply(product, stream_);
  }
  bool multiplies(const MatrixProduct& product) override {
    const Turn turn(*this);
    return products_ && products_->possible(product);
  }

  std::size_t convolution_workspace() const override { return convolutions_ ? Cudnn::workspace_bytes : 0; }
  std::vector<int> convolution_algorithms(const VendorConvolution& convolution) override {
    const Turn turn(*this);
    if (!convolutions_) return {};
    return memory_.holds() ? convolutions_->known_algorithms(convolution) : convolutions_->algorithms(convolution);
  }
  bool convolve(const VendorConvolution& convolution, int algorithm) override {
    const Turn turn(*this);
    const Profile::Span span(profile_.get(), convolution, stream_);
    return convolutions_ && convolutions_->convolve(convolution, algorithm);
  }

  std::vector<std::unique_ptr<CompiledProgram>> compile(std::span<const std::string> sources) override {
    const std::vector<ProgramCache::Cubin> cubins =
        driver().compile(sources, architecture_);  // without the lock, so that other threads can use the GPU
    const Turn turn(*this);
    std::vector<std::unique_ptr<CompiledProgram>> programs;
    for (std::size_t i = 0; i < cubins.size(); ++i)
      programs.push_back(std::make_unique<Program>(*this, sources[i], *cubins[i]));
    return programs;
  }
  void launch(const CompiledProgram& program, std::int64_t blocks, unsigned threads, const void* arguments,
              std::size_t) override {
    const Turn turn(*this);
    void* parameters[] = {const_cast<void*>(arguments)};
    const auto& launched = static_cast<const Program&>(program);
    const Profile::Span span(profile_.get(), launched.name, stream_);
    expect_driver(
        driver().launch(launched.function, grid(blocks).x, 1, 1, threads, 1, 1, 0, stream_, parameters, nullptr),
        "a program");
  }

  std::unique_ptr<Graph> record(const std::function<void()>& work) override {
    const Turn turn(*this);
    if (profile_) return nullptr;  // its events are between launches
    expect(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "beginning a graph");
    cudaGraph_t graph = nullptr;
    memory_.hold();
    const auto end = [&] {
      const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
      memory_.let_go();
      return ended;
    };
    try {
      work();
    } catch (...) {
      end();
      if (graph) cudaGraphDestroy(graph);
      cudaGetLastError();  // the next call must not report it
      throw;
    }
    expect(end(), "ending a graph");
    const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph> owned(graph);
    std::size_t nodes = 0;
    expect(cudaGraphGetNodes(graph, nullptr, &nodes), "counting a graph's nodes");
    if (nodes > most_nodes) return nullptr;
    auto recorded = std::make_unique<GpuGraph>();
    cudaError_t error = memory_.with_retry([&] { return cudaGraphInstantiate(&recorded->executable, graph, 0); });
    // Otherwise the first launch would upload it.
    if (error == cudaSuccess) error = cudaGraphUpload(recorded->executable, stream_);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    expect(error, "instantiating a graph");
    return recorded;
  }
  void launch(const Graph& graph) override {
    const Turn turn(*this);
    expect(cudaGraphLaunch(static_cast<const GpuGraph&>(graph).executable, stream_), "launching a graph");
  }

  void expect_alive(const char* what) override {
    const std::lock_guard lock(mutex_);
    cudaSetDevice(ordinal_);
    fail_if_lost(what);
  }
  void lock() override { mutex_.lock(); }
  void unlock() noexcept override { mutex_.unlock(); }
  CUstream_st* stream() override { return stream_; }
  void make_current() override { const Turn turn(*this); }
  std::unique_ptr<SideQueue> side_queue() override {
    const Turn turn(*this);
    return std::make_unique<SideStream>(ordinal_, stream_);
  }
  void wait() override {
    const Turn turn(*this);
    expect(cudaStreamSynchronize(stream_), "what was queued");
  }
#ifdef ETUDE_NVTX
  void begin_range(const char* name) override { nvtxRangePushA(name); }
  void end_range() override { nvtxRangePop(); }
#endif

 private:
  /// Exclusive use of the stream by a thread. The current device is a property of each thread.
  struct Turn {
    explicit Turn(GpuRuntime& runtime) : lock(runtime.mutex_) {
      expect(cudaSetDevice(runtime.ordinal_), "choosing a GPU");
    }
    std::lock_guard<std::recursive_mutex> lock;
  };
  struct Program : CompiledProgram {
    GpuRuntime& runtime;
    std::string name;
    Driver::Module module = nullptr;
    Driver::Function function = nullptr;

    /// The thread must hold a Turn.
    Program(GpuRuntime& of, const std::string& source, const std::vector<char>& cubin)
        : runtime(of), name(Profile::program_name(source)) {
      const auto load = [&] { return static_cast<cudaError_t>(driver().load(&module, cubin.data())); };
      expect(runtime.memory_.with_retry(load), "loading a program");
      const int found = driver().find(&function, module, "program");
      if (found != 0) driver().unload(module);
      expect_driver(found, "finding a program");
    }
    ~Program() override {
      const std::lock_guard lock(runtime.mutex_);
      cudaSetDevice(runtime.ordinal_);
      cudaStreamSynchronize(runtime.stream_);  // of queued launches
      driver().unload(module);
    }
  };
  /// Measures work, which is excluded from a profile.
  std::optional<double> milliseconds_of(const Chooser::Work& work) {
    const Turn turn(*this);
    const std::shared_ptr<Profile> profile = std::exchange(profile_, nullptr);
    const std::shared_ptr<void> resumed(nullptr, [&](void*) { profile_ = profile; });
    return cuda::milliseconds_of(work, stream_);
  }
  struct Stream {
    cudaStream_t stream;
    ~Stream() { cudaStreamDestroy(stream); }
  };
  static cudaStream_t made_stream(int ordinal) {
    expect(cudaSetDevice(ordinal), "choosing a GPU", ErrorKind::state);
    cudaStream_t stream = nullptr;
    expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream", ErrorKind::state);
    return stream;
  }
  static dim3 grid(std::int64_t blocks) {
    check(blocks <= std::numeric_limits<int>::max(), ErrorKind::state, "Cuda", blocks,
          " blocks of threads - expected fewer than 2^31 - pass smaller batches.");
    return dim3(static_cast<unsigned>(blocks));
  }

  std::recursive_mutex mutex_;  ///< recursive: work that is recorded calls the runtime too
  int ordinal_, architecture_ = 0;
  std::string model_;
  Stream owned_stream_;
  cudaStream_t stream_ = owned_stream_.stream;
  DeviceMemory memory_;
  Staging staging_{memory_};
  std::optional<Chooser> chooser_;
  std::optional<CublasLt> products_;
  std::optional<Cudnn> convolutions_;
  std::shared_ptr<Profile> profile_;
};

}  // namespace

std::vector<Gpu> find_gpus(std::string& why) {
  int count = 0, version = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    cudaDriverGetVersion(&version);
    why = version == 0 ? "there is no NVIDIA driver"
                       : "the NVIDIA driver is older than CUDA " + std::to_string(CUDART_VERSION / 1000) + " requires";
  } else if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    why = "the NVIDIA driver finds no GPU";
  } else if (error != cudaSuccess) {
    why = cudaGetErrorString(error);
  }
  cudaGetLastError();  // the next call must not report it
  std::vector<Gpu> found;
  if (error != cudaSuccess) return found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties;
    if (const cudaError_t asked = cudaGetDeviceProperties(&properties, ordinal); asked != cudaSuccess) {
      cudaGetLastError();
      why = cudaGetErrorString(asked);
    } else if (properties.major * 10 + properties.minor < least_architecture) {
      why = std::string(properties.name) + " is older than compute capability 8.0";
    } else {
      found.push_back({ordinal, properties.name});
    }
  }
  if (found.empty()) return found;
  try {
    compiler_version();
  } catch (const Error& none) {
    why = none.what();
    found.clear();
  }
  return found;
}

std::unique_ptr<Runtime> open_gpu(int ordinal, bool tf32) { return std::make_unique<GpuRuntime>(ordinal, tf32); }

}  // namespace etude::cuda
