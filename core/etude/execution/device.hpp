#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "etude/base/collective.hpp"
#include "etude/base/detail/storage.hpp"
#include "etude/execution/instruction.hpp"

namespace etude {

class Graph;
class Pending;
class AttentionPatterns;
class Workers;
struct Wanted;

/// Bytes of a storage.
struct StorageRange {
  const Storage* storage;
  std::size_t offset, bytes;
};

/// The first byte of each space of a plan.
using Addresses = std::span<std::byte* const>;

/// Runs plans. Shapes were proven when the plan was made, so no run fails. A device declares an overload for each
/// alternative of Instruction, and each kernel's file defines it: an alternative without a kernel does not compile or
/// link.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// Zeroed memory of the device, aligned to 64 bytes.
  virtual std::shared_ptr<Storage> allocate(std::size_t bytes) = 0;
  /// Whether its instructions can read and write the host's memory. If not, plans upload each batch to device memory.
  virtual bool reads_host_memory() const { return true; }
  /// Free device memory, in bytes.
  virtual std::size_t free_memory() const { return 0; }
  /// Whether they can read and write this storage. If not, plans make a copy of it.
  virtual bool reaches(const Storage& storage) const { return storage.in_host_memory(); }
  /// Whether the host can read its memory only after fetch(), as that of WebGPU.
  virtual bool reads_later() const { return false; }
  /// Starts to copy these bytes to the host, in their state after all work that is enqueued now. When the result is
  /// ready, Storage::read() of them returns the copies. Null: the host can read its memory at any time.
  virtual std::unique_ptr<Pending> fetch(std::span<const StorageRange> ranges);
  /// Copies the device's memory to the host's, after all work that is enqueued.
  virtual void download(void* to, const std::byte* from, std::size_t bytes);
  /// Copies the host's memory to the device's, after all work that is enqueued. The host's may change afterwards.
  virtual void upload(std::byte* to, const void* from, std::size_t bytes);
  /// The workspace that an instruction needs in the arena while it runs, in bytes.
  virtual std::size_t workspace(const Instruction&) const = 0;
  /// The most 32-bit numbers that one thread of a program may keep at the same time. Larger programs are divided.
  virtual std::int64_t most_live_numbers() const { return std::numeric_limits<std::int64_t>::max(); }
  /// Whether its matrix products and convolutions accept operands of half precision.
  virtual bool multiplies_halves() const { return false; }
  /// Whether one instruction computes attention of this shape, and another one its gradients. If not, products and a
  /// softmax compute them.
  virtual bool attends(const instruction::AttentionShape&) const { return false; }
  /// The attention of a graph that it computes by separate instructions: none, or the result of find_attention(). A
  /// program without such a device does not contain that pass.
  virtual AttentionPatterns attention_in(const Graph& graph, const Wanted& wanted) const;
  /// The number of chunks of a loop's rows that it can run at the same time.
  virtual int loop_arenas() const { return 1; }
  /// Whether pooling within a convolution gives the same bits as pooling after it, for this shape, this pooling and
  /// this dtype of the result.
  virtual bool pools_alike(const instruction::Convolution&) const { return true; }
  /// The name of the method that it chooses for an instruction, if it has several.
  virtual std::string_view method(const Instruction&) const { return {}; }
  /// The number of kernels and copies that it enqueues for a prepared instruction of a plan with these addresses. Null
  /// if it enqueues none, but runs instructions itself.
  virtual std::optional<std::int64_t> launches(const Instruction&, Addresses) const { return {}; }

  /// All-reduces over several devices, one replica each; this device is one of them. Null if the device has none.
  /// Throws Error(value) for devices that it does not connect, and Error(state) if a library has to be installed first.
  virtual std::shared_ptr<Collective> collective(std::span<const std::reference_wrapper<Device>> devices) const {
    static_cast<void>(devices);
    return nullptr;
  }
  /// All-reduces over several processes, with one such device each; all processes call it. Null if the device has none.
  /// Throws Error(state), in all processes, if one of them cannot take part, and CollectiveError if one fails.
  virtual std::shared_ptr<Collective> collective_over(std::shared_ptr<Workers> workers) const {
    static_cast<void>(workers);
    return nullptr;
  }

  /// Begins a range of the calling thread's work, within those that it has begun before. Profilers of the device's
  /// vendor show it, such as NVIDIA's Nsight Systems.
  virtual void begin_range(std::string_view name) { static_cast<void>(name); }
  /// Ends the innermost range.
  virtual void end_range() {}

  /// Called with a plan's instructions before any of them runs. Here the device compiles all programs that they need,
  /// at once.
  virtual void prepare(std::span<Instruction> instructions) { static_cast<void>(instructions); }

  /// A device's recording of work, for replays.
  class Recording {
   public:
    virtual ~Recording() = default;
  };
  /// Does `work`, which runs instructions on this device: always the same ones for the same addresses. A device may
  /// replay a recording of it instead; the caller passes the same `kept` again.
  virtual void replay(const std::function<void()>& work, Addresses addresses, std::unique_ptr<Recording>& kept);
  /// Runs an instruction.
  virtual void run(const Instruction& instruction, Addresses addresses) = 0;
  /// Runs instructions one after the other.
  void run(std::span<const Instruction> instructions, Addresses addresses);

 protected:
  /// Throws Error(internal), for a device that attends() to no shape.
  [[noreturn]] void refuse_attention() const;
  /// Throws Error(internal), for an AllReduce or AwaitSums: a device alone cannot all-reduce.
  [[noreturn]] static void refuse_replicas();
  /// Runs the body's instructions, step after step.
  void run_steps(const instruction::Scan& scan, Addresses addresses);
  /// For each step in order: fills the table of addresses of the arena, and calls body(addresses).
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

}  // namespace etude
