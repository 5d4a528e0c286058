#pragma once

#include "etude/execution/device.hpp"
#include "etude/kernels/cpu/kernels.hpp"

namespace etude {

/// The CPU, natively and in WebAssembly: one source, through xsimd.
class Cpu : public Device {
 public:
  /// Uses the best instruction set that the build contains and the processor supports.
  Cpu() : Cpu(cpu::available_kernels().front()) {}
  /// Uses a given instruction set, so that tests can compare them.
  explicit Cpu(const cpu::Kernels& kernels) : kernels_(kernels) {}

  using Device::run;

  std::string_view name() const override { return "cpu"; }
  /// The name of the instruction set: "avx2", "wasm", …
  std::string_view isa() const { return kernels_.isa; }
  std::shared_ptr<Storage> allocate(std::size_t bytes) override { return std::make_shared<Storage>(bytes); }
  std::size_t workspace(const Instruction&) const override;
  int loop_arenas() const override;
  bool pools_alike(const instruction::Convolution&) const override;
  std::string_view method(const Instruction&) const override;

  void run(const Instruction&, Addresses) override;

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
  std::size_t gemm_workspace(const instruction::Gemm&, int threads) const;
  /// Computes rows [first, first + count) of the result, on these threads.
  template <class T>
  void gemm(const instruction::Gemm&, Addresses, std::int64_t first, std::int64_t count, const cpu::Workers&);
  /// Computes rows [first, last) of an instruction in a loop's body, on this thread.
  void run_rows(const Instruction&, const instruction::Scan&, std::int64_t first, std::int64_t last, Addresses);
  template <class T> void reduce(const instruction::Reduce&, Addresses);
  template <class T> void transpose(const instruction::Transpose&, Addresses);

  const cpu::Kernels& kernels_;
};

}  // namespace etude
