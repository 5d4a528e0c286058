#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <tuple>

#include "etude/base/collective.hpp"
#include "etude/execution/device.hpp"

namespace etude {

/// An all-reduce of replicas in the memory of one process. It adds in the order of the replicas, on all threads if the
/// Values are large enough.
class HostCollective : public Collective {
 public:
  std::string_view name() const override { return "HostCollective"; }
  bool in_host_memory() const override { return true; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;
};

/// An all-reduce of replicas that one device computes in its own memory, such as several on one GPU. It adds in the
/// order of the replicas, by instructions that are enqueued like those of the replicas' steps. Source:
/// tf.distribute.ReductionToOneDevice.
class ReductionToOneDevice : public Collective {
 public:
  explicit ReductionToOneDevice(Device& device) : device_(device) {}
  std::string_view name() const override { return "ReductionToOneDevice"; }
  bool queued() const override { return true; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;

 private:
  /// The dtype, and the numbers of elements, parts and sums.
  using Kind = std::tuple<DType, std::int64_t, std::size_t, std::size_t>;
  const Instruction& sum_of(const ReplicaSum& value);

  Device& device_;
  std::map<Kind, Instruction> sums_;  ///< Prepared once, not in each step.
  std::mutex mutex_;                  ///< Guards sums_: models on several threads may share a strategy.
};

}  // namespace etude
