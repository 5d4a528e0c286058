#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "cuda/runtime.hpp"
#include "etude/execution/device.hpp"

namespace etude {
namespace cuda {
struct ElementwiseLaunches;
struct ProductLaunch;
struct WantedProgram;
}  // namespace cuda

struct CudaOptions {
  /// Whether a plan's step is recorded as a graph. Otherwise its kernels are enqueued one by one, with the same bits.
  bool record = true;
  /// The most work of a product that the program of its reader computes, element by element, instead of a separate
  /// kernel; 0: never. A multiplication counts once for each distinct place from which neighbouring threads read its
  /// numbers.
  std::int64_t most_work_of_programs = std::int64_t{1} << 22;
  /// The most bytes of a convolution's patches that are laid out at a time, for a product of the vendor.
  std::size_t most_patches_bytes = std::size_t{24} << 20;
  /// The most multiplications of attention for each byte of a score that is not stored; 0: scores are always stored. A
  /// score takes a product along the features of a query and one along those of a value. Kernels that keep scores in
  /// shared memory multiply slower than a vendor's products, and save the time of writing and reading scores.
  std::int64_t most_attention_work = 32;
};

/// A GPU. Every instruction becomes kernels in its queue, none of which waits for the host. From its second run on, a
/// plan's whole step is one recorded graph.
class Cuda : public Device {
 public:
  /// The GPU of a runtime, with the name `name`: "/gpu:0".
  Cuda(std::string name, std::unique_ptr<cuda::Runtime> runtime, const CudaOptions& options = {});
  ~Cuda() override;

  using Device::run;

  std::string_view name() const override { return name_; }
  bool reads_host_memory() const override { return false; }
  std::size_t free_memory() const override { return runtime_->free_memory(); }
  bool reaches(const Storage& storage) const override;
  std::shared_ptr<Storage> allocate(std::size_t bytes) override;
  void download(void* to, const std::byte* from, std::size_t bytes) override { runtime_->download(to, from, bytes); }
  void upload(std::byte* to, const void* from, std::size_t bytes) override { runtime_->upload(to, from, bytes); }
  std::size_t workspace(const Instruction&) const override;
  /// A thread has 255 registers. The rest hold addresses and intermediate results.
  std::int64_t most_live_numbers() const override { return 160; }
  bool multiplies_halves() const override { return true; }
  bool attends(const instruction::AttentionShape&) const override;
  AttentionPatterns attention_in(const Graph& graph, const Wanted& wanted) const override;
  /// False: a separate kernel pools a convolution's result.
  bool pools_alike(const instruction::Convolution&) const override { return false; }
  std::string_view method(const Instruction&) const override;
  std::optional<std::int64_t> launches(const Instruction&, Addresses) const override;

  /// NCCL, for distinct GPUs of this machine. Throws Error(value) for other devices, Error(state) if NCCL is not
  /// installed.
  std::shared_ptr<Collective> collective(std::span<const std::reference_wrapper<Device>> devices) const override;
  /// NCCL, with a GPU of its own for each process.
  std::shared_ptr<Collective> collective_over(std::shared_ptr<Workers> workers) const override;
  /// A range of NVTX.
  void begin_range(std::string_view name) override { runtime_->begin_range(std::string(name).c_str()); }
  void end_range() override { runtime_->end_range(); }
  void prepare(std::span<Instruction> instructions) override;
  void replay(const std::function<void()>& work, Addresses, std::unique_ptr<Recording>&) override;
  void run(const Instruction&, Addresses) override;

  cuda::Runtime& runtime() { return *runtime_; }

 private:
  /// Computes one instruction. Each is defined beside its kernels.
  void compute(const instruction::Elementwise&, Addresses);
  void compute(const instruction::Gemm&, Addresses);
  void compute(const instruction::Convolution&, Addresses);
  void compute(const instruction::ConvolutionInput&, Addresses);
  void compute(const instruction::ConvolutionFilter&, Addresses);
  void compute(const instruction::MaxPool&, Addresses);
  void compute(const instruction::PoolGather&, Addresses);
  void compute(const instruction::PoolScatter&, Addresses);
  void compute(const instruction::Reduce&, Addresses);
  void compute(const instruction::Cumsum&, Addresses);
  void compute(const instruction::ArgMax&, Addresses);
  void compute(const instruction::ArgSort&, Addresses);
  void compute(const instruction::OneHot&, Addresses);
  void compute(const instruction::Gather&, Addresses);
  void compute(const instruction::ScatterAdd&, Addresses);
  void compute(const instruction::Softmax&, Addresses);
  void compute(const instruction::Crossentropy&, Addresses);
  void compute(const instruction::Attention&, Addresses);
  void compute(const instruction::AttentionGradient&, Addresses);
  void compute(const instruction::Transpose&, Addresses);
  void compute(const instruction::Uniform&, Addresses);
  void compute(const instruction::Copy&, Addresses);
  void compute(const instruction::AllReduce&, Addresses);
  void compute(const instruction::AwaitSums&, Addresses);
  void compute(const instruction::Scan&, Addresses);
  /// The workspace, in bytes, of an instruction that has one. Likewise.
  std::size_t wanted_workspace(const instruction::Gemm&) const;
  std::size_t wanted_workspace(const instruction::Convolution&) const;
  std::size_t wanted_workspace(const instruction::ConvolutionInput&) const;
  std::size_t wanted_workspace(const instruction::ConvolutionFilter&) const;
  std::size_t wanted_workspace(const instruction::Reduce&) const;
  std::size_t wanted_workspace(const instruction::ArgMax&) const;
  std::size_t wanted_workspace(const instruction::ScatterAdd&) const;
  std::size_t wanted_workspace(const instruction::Softmax&) const;
  std::size_t wanted_workspace(const instruction::Crossentropy&) const;
  std::size_t wanted_workspace(const instruction::AttentionGradient&) const;
  /// The launches of an instruction. Their programs are added to `wanted`, and set later.
  std::shared_ptr<cuda::ElementwiseLaunches> launches_of(const instruction::Elementwise& instruction,
                                                         std::vector<cuda::WantedProgram>& wanted) const;
  std::shared_ptr<cuda::ProductLaunch> launch_of(const instruction::Gemm& gemm,
                                                 std::vector<cuda::WantedProgram>& wanted) const;
  /// Adds the programs of an instruction, and of those within it.
  void prepare(Instruction& instruction, std::vector<cuda::WantedProgram>& wanted) const;
  /// Compiles all programs that are not compiled yet, several at the same time, and sets all.
  void set_programs(std::span<const cuda::WantedProgram> wanted);
  /// Whether a product is small enough for a program.
  bool by_program(const instruction::Gemm& gemm) const;
  void run_by_program(const instruction::Gemm& gemm, Addresses addresses);

  std::string name_;
  std::shared_ptr<cuda::Runtime> runtime_;  ///< Storages keep it alive.
  CudaOptions options_;
  std::mutex programs_mutex_;
  std::unordered_map<std::string, std::unique_ptr<cuda::CompiledProgram>> programs_;
};

}  // namespace etude
