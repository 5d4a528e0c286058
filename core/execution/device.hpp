#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "etude/base/storage.hpp"
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
  /// Bytes of the arena that an instruction wants for itself while it runs.
  virtual std::size_t workspace(const instruction::Gemm&) const { return 0; }
  virtual std::size_t workspace(const instruction::Convolution&) const { return 0; }
  virtual std::size_t workspace(const instruction::ConvolutionInput&) const { return 0; }
  virtual std::size_t workspace(const instruction::ConvolutionFilter&) const { return 0; }
  virtual std::size_t workspace(const instruction::Reduce&) const { return 0; }

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
  /// Runs the body's instructions, step after step.
  virtual void run(const instruction::Scan&, Addresses);
};

/// The device of whoever names none: the processor. The kernels' room defines it.
Device& default_device();

}  // namespace etude
