#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "etude/base/collective.hpp"
#include "etude/distribute/strategy.hpp"

namespace etude {

/// Options of MirroredStrategy.
struct MirroredOptions {
  /// The number of replicas on the default device. 0: as many as `devices`. Without `devices`: one on each GPU if the
  /// default device is the first GPU, one if it is another GPU, and as many as the processor has threads if it is the
  /// processor.
  int replicas = 0;
  /// The device of each replica. A device may occur more than once. The devices must outlive the strategy.
  std::vector<std::reference_wrapper<Device>> devices = {};
  /// The all-reduce of the replicas. If null, one for host memory, for the memory of the one GPU that computes all
  /// replicas, or for several GPUs, which needs NCCL.
  std::shared_ptr<Collective> collective = {};
};

/// Several replicas of a model in one process, each with a shard of every batch. Together they compute the steps of one
/// model.
///
///     auto strategy = std::make_shared<MirroredStrategy>(MirroredOptions{.replicas = 2});
///     auto scope = strategy->scope();
///     Sequential model({layers::dense({.units = 10})});
///     model.compile({.optimizer = "adam", .loss = "mse"});
///     model.fit(x, y, {.batch_size = 64});  // 32 rows for each replica
///
/// Batches are divided along their rows, evenly or with one row more for the first replicas. A batch with fewer rows
/// than replicas uses as many replicas as it has rows. In a step, compute_loss returns this replica's part of the loss
/// of the whole batch, and apply all-reduces the gradients. So a model trains as on one replica, up to the order of
/// sums. Losses of regularizers and of add_loss count as their mean over the replicas. Metrics are those of the whole
/// batch. BatchNormalization uses the moments of its shard unless it is `synchronized`. Random draws equal those of one
/// replica. After every step all replicas hold the same variables, to the bit, and the same number of replicas gives
/// the same bits on any number of threads. run_eagerly runs the whole batch as one replica. Layers that are `stateful`
/// are refused, because their state belongs to single rows. Source: tf.distribute.MirroredStrategy.
class MirroredStrategy : public Strategy {
 public:
  /// Throws Error(value) for less than one replica, for another number of replicas than of devices, and for devices
  /// without a common all-reduce; Error(state) for several GPUs if NCCL is not installed.
  explicit MirroredStrategy(MirroredOptions options = {});

  std::string_view name() const override { return "MirroredStrategy"; }
  int num_replicas_in_sync() const override { return static_cast<int>(options_.devices.size()); }
  Device& device(int replica) override { return options_.devices[static_cast<std::size_t>(replica)]; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;
  std::size_t bucket_bytes() const override { return overlaps_ ? options_.collective->bucket_bytes() : 0; }
  void start_all_reduce(std::span<const ReplicaSum> bucket, int number) override;
  void await_all_reduce(int number, std::size_t replica) override;
  bool all_reduces_on_device() const override { return one_device_ && options_.collective->queued(); }

 private:
  /// Calls `join`, and measures its time if there are watchers.
  template <class Join> void timed(Join join);

  MirroredOptions options_;
  bool one_device_ = false, overlaps_ = false;
};

}  // namespace etude
