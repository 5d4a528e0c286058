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
  /// Computes one instruction. Beside each kernel is the specialization for its instruction.
  template <class I> void compute(const I&, Addresses);
  /// The workspace, in bytes, of an instruction that has one. Likewise.
  template <class I> std::size_t wanted_workspace(const I&) const;
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
