#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "etude/base/dtype.hpp"
#include "etude/execution/device.hpp"

namespace etude {

/// A Value that replicas join: `count` elements, of which each replica has its own at `parts`, in the order of the
/// replicas, and gets the sum at `sums`. A part and its sum may lie at the same place, and overlap with nothing else.
struct ReplicaSum {
  DType dtype = DType::float32;
  std::int64_t count = 0;
  std::vector<const std::byte*> parts;
  std::vector<std::byte*> sums;
};

/// What joins replicas: how sums get from device to device. Source: tf.distribute.CrossDeviceOps.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual std::string_view name() const = 0;
  /// Whether it joins what lies in the host's memory, and nothing else.
  virtual bool in_host_memory() const { return false; }
  /// Whether it only queues work on the one device that computes all replicas: then their step can be replayed.
  virtual bool queued() const { return false; }
  /// Leaves in all `sums` the same bits, those of the parts added up in an order that depends on the number of replicas
  /// alone. Called at every step that is not replayed, with one bucket for each place where replicas join.
  virtual void all_reduce(std::span<const ReplicaSum> bucket) = 0;
};

/// Of replicas in the memory of one process: adds up in the order of the replicas, on all threads where that pays.
class HostCollective : public Collective {
 public:
  std::string_view name() const override { return "HostCollective"; }
  bool in_host_memory() const override { return true; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;
};

/// Of replicas that one device computes in its own memory, such as several on one GPU: added up there, in the order of
/// the replicas, by instructions that are queued like those of the replicas' steps. Source:
/// tf.distribute.ReductionToOneDevice.
class ReductionToOneDevice : public Collective {
 public:
  explicit ReductionToOneDevice(Device& device) : device_(device) {}
  std::string_view name() const override { return "ReductionToOneDevice"; }
  bool queued() const override { return true; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;

 private:
  Device& device_;
};

}  // namespace etude
