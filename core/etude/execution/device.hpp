#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "etude/base/storage.hpp"
#include "etude/execution/collective.hpp"
#include "etude/execution/instruction.hpp"

namespace etude {

/// Where each space of a plan begins.
using Addresses = std::span<std::byte* const>;

/// What runs a plan. One `run` per Instruction; shapes were proven when the plan was made, so none of them fails.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// Zeroed memory of the device, aligned to 64 bytes.
  virtual std::shared_ptr<Storage> allocate(std::size_t bytes) = 0;
  /// Whether its instructions reach the host's memory. For one that has a memory of its own, plans take each batch
  /// there.
  virtual bool reads_host_memory() const { return true; }
  /// Free device memory, in bytes.
  virtual std::size_t free_memory() const { return 0; }
  /// Whether they reach this storage. For what they don't, plans make a copy.
  virtual bool reaches(const Storage& storage) const { return storage.in_host_memory(); }
  /// Bytes of the arena that an instruction wants for itself while it runs.
  virtual std::size_t workspace(const instruction::Gemm&) const { return 0; }
  virtual std::size_t workspace(const instruction::Convolution&) const { return 0; }
  virtual std::size_t workspace(const instruction::ConvolutionInput&) const { return 0; }
  virtual std::size_t workspace(const instruction::ConvolutionFilter&) const { return 0; }
  virtual std::size_t workspace(const instruction::Reduce&) const { return 0; }
  virtual std::size_t workspace(const instruction::ArgMax&) const { return 0; }
  virtual std::size_t workspace(const instruction::ScatterAdd&) const { return 0; }
  virtual std::size_t workspace(const instruction::Softmax&) const { return 0; }
  virtual std::size_t workspace(const instruction::Crossentropy&) const { return 0; }
  /// How many 32-bit numbers of one thread a program may keep at the same time. Larger programs are divided.
  virtual std::int64_t most_live_numbers() const { return std::numeric_limits<std::int64_t>::max(); }
  /// Whether its products, of matrices and in convolutions, take operands of half precision.
  virtual bool multiplies_halves() const { return false; }
  /// How many chunks of a loop's rows it would run at the same time.
  virtual int loop_arenas() const { return 1; }
  /// Whether a convolution that is pooled as it is computed has the bits of one that is pooled afterwards. Asked for
  /// its shape, its pooling and the dtype of its result.
  virtual bool pools_alike(const instruction::Convolution&) const { return true; }
  /// What it calls the way in which it computes an instruction, if it has several.
  virtual std::string_view method(const Instruction&) const { return {}; }

  /// What sums over replicas on several devices, a replica each; this is one of them. Null where there is nothing.
  /// Throws Error(value) for devices that it does not connect, Error(state) where something has to be installed first.
  virtual std::shared_ptr<Collective> collective(std::span<const std::reference_wrapper<Device>> devices) const {
    static_cast<void>(devices);
    return nullptr;
  }

  /// Called with a plan's instructions before any of them runs; what the device has to compile for them, it compiles
  /// here, all at once.
  virtual void prepare(std::span<Instruction> instructions) { static_cast<void>(instructions); }

  /// What a device keeps of work that was done on it.
  class Recording {
   public:
    virtual ~Recording() = default;
  };
  /// Does `work`, which runs instructions on this device, always the same ones as long as the addresses are the same. A
  /// device may instead replay a recording of it; who calls this again passes what was kept.
  virtual void replay(const std::function<void()>& work, Addresses addresses, std::unique_ptr<Recording>& kept);
  /// Runs instructions one after the other.
  void run(std::span<const Instruction> instructions, Addresses addresses);

  virtual void run(const instruction::Elementwise&, Addresses) = 0;
  virtual void run(const instruction::Gemm&, Addresses) = 0;
  virtual void run(const instruction::Convolution&, Addresses) = 0;
  virtual void run(const instruction::ConvolutionInput&, Addresses) = 0;
  virtual void run(const instruction::ConvolutionFilter&, Addresses) = 0;
  virtual void run(const instruction::MaxPool&, Addresses) = 0;
  virtual void run(const instruction::PoolGather&, Addresses) = 0;
  virtual void run(const instruction::PoolScatter&, Addresses) = 0;
  virtual void run(const instruction::Reduce&, Addresses) = 0;
  virtual void run(const instruction::ArgMax&, Addresses) = 0;
  virtual void run(const instruction::OneHot&, Addresses) = 0;
  virtual void run(const instruction::Gather&, Addresses) = 0;
  virtual void run(const instruction::ScatterAdd&, Addresses) = 0;
  virtual void run(const instruction::Softmax&, Addresses) = 0;
  virtual void run(const instruction::Crossentropy&, Addresses) = 0;
  virtual void run(const instruction::Transpose&, Addresses) = 0;
  virtual void run(const instruction::Uniform&, Addresses) = 0;
  virtual void run(const instruction::Copy&, Addresses) = 0;
  /// No device does that alone: throws Error(internal).
  void run(const instruction::AllReduce&, Addresses);
  /// Runs the body's instructions, step after step.
  virtual void run(const instruction::Scan&, Addresses);

 protected:
  /// For each step in turn: fills the table that goes with the arena, and calls body(addresses).
  template <class Body>
  static void each_step(const instruction::Scan& scan, int arena, Addresses addresses, Body body);
};

template <class Body>
void Device::each_step(const instruction::Scan& scan, int arena, Addresses addresses, Body body) {
  const std::size_t count = scan.spaces.size();
  const std::span<std::byte*> table(scan.body->addresses.data() + count * static_cast<std::size_t>(arena), count);
  for (std::int64_t executed = 0; executed < scan.steps; ++executed) {
    const std::int64_t step = scan.reverse ? scan.steps - 1 - executed : executed;
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [operand, stride, shift, turns] = scan.spaces[i];
      const std::int64_t entry = turns ? (executed + shift) % 2 : step + shift;
      table[i] = addresses[static_cast<std::size_t>(operand.space)] + operand.offset + entry * stride;
    }
    table[0] += arena * scan.arena_bytes;
    body(Addresses(table));
  }
}

/// The processor. Defined in kernels/cpu.
Device& cpu_device();

}  // namespace etude
