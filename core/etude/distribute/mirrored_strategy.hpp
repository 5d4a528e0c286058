#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "etude/distribute/strategy.hpp"

namespace etude {

/// Options of MirroredStrategy.
struct MirroredOptions {
  /// How many replicas the default device has; 0: as many as `devices`, or, without them, one on each GPU where the
  /// first one is the default device, one on another GPU, as many as the processor has threads.
  int replicas = 0;
  /// The device of each replica; the same one may stand there more than once. They must outlive the strategy.
  std::vector<std::reference_wrapper<Device>> devices = {};
  /// What joins the replicas. If null, one for host memory, for the memory of the GPU that computes all of them, or for
  /// several GPUs, which takes NCCL.
  std::shared_ptr<Collective> collective = {};
};

/// Several replicas of a model in one process, each with a share of every batch: the steps of one replica, computed by
/// several.
///
///     auto strategy = std::make_shared<MirroredStrategy>(MirroredOptions{.replicas = 2});
///     auto scope = strategy->scope();
///     Sequential model({layers::dense({.units = 10})});
///     model.compile({.optimizer = "adam", .loss = "mse"});
///     model.fit(x, y, {.batch_size = 64});  // 32 rows for each replica
///
/// Batches are cut along their rows, evenly or with one row more for the first replicas; a batch of fewer rows than
/// replicas runs on as many as it has rows. In a step compute_loss gives this replica's part of the loss of the whole
/// batch, and apply adds up the gradients, so that a model trains as on one replica, up to the order in which sums are
/// made. Losses of regularizers and of add_loss count as their mean over the replicas. Metrics are those of the whole
/// batch; BatchNormalization takes the moments of its share unless it is `synchronized`; random draws are those that
/// one replica would make. All replicas hold the same variables, to the bit, after every step, and the same number of
/// replicas gives the same bits on any number of threads. run_eagerly runs the whole batch as one replica.
/// Layers that are `stateful` are refused, for their state is that of single rows. Source:
/// tf.distribute.MirroredStrategy.
class MirroredStrategy : public Strategy {
 public:
  /// Throws Error(value) for less than one replica, for another number than that of the devices, and for devices that
  /// nothing joins; Error(state) for several GPUs where NCCL is not installed.
  explicit MirroredStrategy(MirroredOptions options = {});

  std::string_view name() const override { return "MirroredStrategy"; }
  int num_replicas_in_sync() const override { return static_cast<int>(options_.devices.size()); }
  Device& device(int replica) override { return options_.devices[static_cast<std::size_t>(replica)]; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;
  bool joins_on_device() const override { return one_device_ && options_.collective->queued(); }

 private:
  MirroredOptions options_;
  bool one_device_ = false;
};

}  // namespace etude
