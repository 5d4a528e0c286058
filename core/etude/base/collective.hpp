#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "etude/base/dtype.hpp"

namespace etude {

/// A Value that the replicas all-reduce. It has `count` elements. Replica i has its summand at `parts[i]`, and gets the
/// sum at `sums[i]`. A part and its sum may lie at the same place, and overlap with nothing else.
struct ReplicaSum {
  /// The element type of the parts and of the sum.
  DType dtype = DType::float32;
  /// The number of elements.
  std::int64_t count = 0;
  /// The summand of each replica.
  std::vector<const std::byte*> parts;
  /// The place of each replica's sum.
  std::vector<std::byte*> sums;
};

/// All-reduces Values across devices. Source: tf.distribute.CrossDeviceOps.
class Collective {
 public:
  virtual ~Collective() = default;
  /// Its name in errors and reports, such as "nccl".
  virtual std::string_view name() const = 0;
  /// Whether it reduces memory of the host only.
  virtual bool in_host_memory() const { return false; }
  /// Whether it only enqueues work on the replicas' devices. If so, and if all replicas are on one device, their step
  /// can be replayed.
  virtual bool queued() const { return false; }
  /// Writes the same bits to all `sums`: the sum of the parts, in an order that depends only on the replicas' devices.
  /// It is called at every step that is not replayed, with one bucket for each all-reduce of the plan. There may be
  /// fewer replicas than devices; these are the first devices.
  virtual void all_reduce(std::span<const ReplicaSum> bucket) = 0;

  /// The least bytes of a bucket if it can all-reduce concurrently with the replicas' work, by start() and await();
  /// else 0.
  virtual std::size_t bucket_bytes() const { return 0; }
  /// Starts an all-reduce after the work that the replicas have queued. Until await(), parts and sums must not be used,
  /// and `bucket` must not change.
  /// `number` is the number of the bucket in the step; an earlier bucket of that number was awaited before.
  virtual void start(std::span<const ReplicaSum> bucket, int number) {
    static_cast<void>(number);
    all_reduce(bucket);
  }
  /// Makes later work of a replica wait for the bucket of this number.
  virtual void await(int number, std::size_t replica) {
    static_cast<void>(number);
    static_cast<void>(replica);
  }
};

}  // namespace etude
