#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "etude/base/dtype.hpp"

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
  /// Whether it only queues work on the replicas' devices: where all of them are one, their step can be replayed.
  virtual bool queued() const { return false; }
  /// Leaves in all `sums` the same bits, those of the parts added up in an order that depends on the replicas' devices
  /// alone. Called at every step that is not replayed, with one bucket for each place where replicas join. There may be
  /// fewer replicas than devices: the first ones.
  virtual void all_reduce(std::span<const ReplicaSum> bucket) = 0;
};

}  // namespace etude
