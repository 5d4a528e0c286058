#include "cuda/cuda.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cuda/launch.hpp"
#include "cuda/nccl.hpp"
#include "cuda/nccl_workers.hpp"
#include "etude/base/error.hpp"
#include "etude/base/random.hpp"

namespace etude {

using cuda::at;

namespace {

/// A block of device memory.
class CudaStorage : public Storage {
 public:
  CudaStorage(std::shared_ptr<cuda::Runtime> runtime, std::size_t bytes)
      : Storage(0), runtime_(std::move(runtime)), bytes_(bytes), memory_(runtime_->allocate(bytes)) {}
  ~CudaStorage() override { runtime_->release(memory_); }

  bool in_host_memory() const override { return false; }
  std::byte* address() override { return memory_; }
  std::size_t bytes() const override { return bytes_; }
  void read(std::size_t offset, void* out, std::size_t count) const override {
    if (count) runtime_->download(out, memory_ + offset, count);
  }
  void write(std::size_t offset, const void* in, std::size_t count) override {
    if (count) runtime_->upload(memory_ + offset, in, count);
  }
  void copy(std::size_t offset, const Storage& from, std::size_t count) override {
    if (count == 0) return;
    const auto* other = dynamic_cast<const CudaStorage*>(&from);
    if (other && other->is_of(*runtime_)) return runtime_->copy(memory_ + offset, other->memory_ + offset, count);
    // One piece is uploaded to this GPU while the next is downloaded from the other. The runtimes copy both through
    // pinned memory.
    constexpr std::size_t piece = std::size_t{4} << 20;
    std::vector<std::byte> on_host(std::min(count, piece));
    for (std::size_t done = 0; done < count; done += piece) {
      const std::size_t bytes = std::min(count - done, piece);
      from.read(offset + done, on_host.data(), bytes);
      write(offset + done, on_host.data(), bytes);
    }
  }
  bool is_of(const cuda::Runtime& runtime) const { return runtime_.get() == &runtime; }

 private:
  std::shared_ptr<cuda::Runtime> runtime_;
  std::size_t bytes_;
  std::byte* memory_;
};

/// Work as a graph. The first run at new addresses is not recorded, because it may compile programs, and measure
/// algorithms.
struct Recorded : Device::Recording {
  std::vector<std::byte*> addresses;
  std::unique_ptr<cuda::Graph> graph;
  bool possible = true;
};

/// A thread for each four draws, which share one counter.
template <class T>
struct UniformKernel {
  static constexpr const char* name = "uniform";
  std::uint64_t seed;
  std::uint32_t stream;
  std::int64_t first, count;
  const std::int32_t* counter;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t fours) const {
    const std::int64_t block = first / 4 + fours;
    const auto bits = philox(seed, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(*counter), stream,
                                    static_cast<std::uint32_t>(RandomStream::step)});
    for (int drawn = 0; drawn < 4; ++drawn)
      if (const std::int64_t i = block * 4 + drawn - first; i >= 0 && i < count)
        out[i] = static_cast<T>(uniform_from_bits(bits[static_cast<std::size_t>(drawn)]));
  }
};

}  // namespace

Cuda::Cuda(std::string name, std::unique_ptr<cuda::Runtime> runtime, const CudaOptions& options)
    : name_(std::move(name)), runtime_(std::move(runtime)), options_(options) {}
Cuda::~Cuda() {
  try {
    runtime_->wait();
  } catch (const Error&) {  // of work with unused results
  }
}

bool Cuda::reaches(const Storage& storage) const {
  const auto* own = dynamic_cast<const CudaStorage*>(&storage);
  return own && own->is_of(*runtime_);
}

std::shared_ptr<Storage> Cuda::allocate(std::size_t bytes) { return std::make_shared<CudaStorage>(runtime_, bytes); }

std::shared_ptr<Collective> Cuda::collective(std::span<const std::reference_wrapper<Device>> devices) const {
  std::vector<cuda::Runtime*> runtimes;
  std::set<int> gpus;
  for (Device& device : devices) {
    auto* gpu = dynamic_cast<Cuda*>(&device);
    check(gpu != nullptr && gpus.insert(gpu->runtime().ordinal()).second, ErrorKind::value, name_, "replicas on ",
          device.name(), gpu ? ", which has several of them," : "",
          " together with this one - expected several GPUs with a replica each, or one GPU with all replicas - change "
          "other devices.");
    runtimes.push_back(&gpu->runtime());
  }
  return std::make_shared<cuda::Nccl>(cuda::Nccl::installed(), std::move(runtimes));
}

std::shared_ptr<Collective> Cuda::collective_over(std::shared_ptr<Workers> workers) const {
  return std::make_shared<cuda::NcclWorkers>(cuda::NcclWorkers::installed, *runtime_, std::move(workers));
}

void Cuda::replay(const std::function<void()>& work, Addresses addresses, std::unique_ptr<Recording>& kept) {
  if (!kept) {
    kept = std::make_unique<Recorded>();
    static_cast<Recorded&>(*kept).possible = options_.record;
  }
  auto& recorded = static_cast<Recorded&>(*kept);
  if (!std::ranges::equal(recorded.addresses, addresses)) {
    recorded.graph.reset();
    recorded.addresses.clear();
    work();
    recorded.addresses.assign(addresses.begin(), addresses.end());  // not after an error: then some work is still new
    return;
  }
  if (!recorded.graph && recorded.possible) {
    recorded.graph = runtime_->record(work);
    recorded.possible = recorded.graph != nullptr;
  }
  if (recorded.graph)
    runtime_->launch(*recorded.graph);
  else
    work();
}

void Cuda::compute(const instruction::Uniform& u, Addresses addresses) {
  if (u.count == 0) return;
  const std::int64_t fours = (u.first + u.count + 3) / 4 - u.first / 4;
  cuda::with_float(u.out.dtype, [&]<class T>(T) {
    cuda::launch_each(*runtime_, fours,
                      UniformKernel<T>{u.seed, u.stream, u.first, u.count, at<const std::int32_t>(addresses, u.counter),
                                       at<T>(addresses, u.out)});
  });
}

void Cuda::compute(const instruction::Copy& c, Addresses addresses) {
  if (c.bytes > 0)
    runtime_->copy(at<std::byte>(addresses, c.out), at<const std::byte>(addresses, c.in),
                   static_cast<std::size_t>(c.bytes));
}

void Cuda::compute(const instruction::Scan& scan, Addresses addresses) { run_steps(scan, addresses); }
void Cuda::compute(const instruction::AllReduce&, Addresses) { refuse_replicas(); }
void Cuda::compute(const instruction::AwaitSums&, Addresses) { refuse_replicas(); }

void Cuda::run(const Instruction& instruction, Addresses addresses) {
  std::visit([&](const auto& one) { compute(one, addresses); }, instruction);
}

std::size_t Cuda::workspace(const Instruction& instruction) const {
  return std::visit(
      [&](const auto& one) -> std::size_t {
        if constexpr (requires { one.workspace; })
          return wanted_workspace(one);
        else
          return 0;
      },
      instruction);
}

}  // namespace etude
