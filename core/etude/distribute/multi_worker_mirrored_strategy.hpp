#pragma once

#include <memory>
#include <string>

#include "etude/distribute/strategy.hpp"
#include "etude/distribute/workers.hpp"

namespace etude {

/// Options of MultiWorkerMirroredStrategy.
struct MultiWorkerOptions {
  /// Whether fit continues when processes fail, with the remaining ones, and admits processes that are started again.
  /// It needs processes that etude-launch --elastic has started.
  bool elastic = false;
  /// How GPUs are summed. "nccl": by NVIDIA's NCCL, in their memory; needs a GPU of its own for each process, and no
  /// `elastic`. "ring": by the workers, through the host's memory. "auto": by NCCL if possible, otherwise through the
  /// host's memory, with a warning. The same in all processes. Source:
  /// tf.distribute.experimental.CommunicationImplementation.
  std::string communication = "auto";
};

/// One replica of a model in each of several processes, on one machine or on many. Together they compute the steps of
/// one model. All processes run the same program.
///
///     const auto workers = connect_workers(cluster_from_environment());
///     const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(workers);
///     const auto scope = strategy->scope();
///     Sequential model({layers::dense({.units = 10})});
///     model.compile({.optimizer = "adam", .loss = "mse"});
///     model.fit(x, y, {.batch_size = 64, .verbose = strategy->is_chief() ? 1 : 0});
///
/// `batch_size` is that of the global batch. Each process iterates over all batches, computes a shard of the rows of
/// each one, as a replica of MirroredStrategy does, and all-reduces. A batch with fewer rows than processes is computed
/// by every process. A Dataset may also be divided by its files, or be the part of its process (DatasetOptions): then
/// the rows of all processes in a step are its batch, and a batch of the dataset, which is a global one, has the rows
/// of as many steps as there are processes. The dataset of a DatasetCreator is the part of its process, in batches of
/// the rows of one. A process whose data has ended computes rows of the others, until the data of all has ended.
/// Weights, losses and metrics are those of one process, up to the order of sums, and predictions have the rows of all
/// processes. After every step all processes hold the same variables, to the bit, and so do later runs with the same
/// number of processes. Variables begin with the values of rank 0. run_eagerly computes whole batches in every process,
/// so that it needs the data of all of them. Train one model at a time: if two threads of each process trained, their
/// operations might come in different orders.
///
/// With `elastic`, the first fit survives the end of processes. Those that are left form a new group, return to the
/// last step that all of them have completed, and continue: shards, gradients and metrics are then those of the smaller
/// number. A process that etude-launch starts again joins them in fit, with the state of the others. Until then it is
/// alone, and not the chief. Every process must read the whole data, and the data must be able to return to earlier
/// batches, which generators cannot. Each process keeps two copies of the state of fit. Callbacks return to the state
/// of that step, too, and those of the chief end with it. A process that joins too late ends with status 0 in fit.
/// After fit, the processes do not change any more. Source: tf.distribute.MultiWorkerMirroredStrategy.
class MultiWorkerMirroredStrategy : public Strategy {
 public:
  /// Uses the default device. Give each process a GPU of its own. If the processes have different random seeds, all of
  /// them get that of rank 0. Throws Error(value) for a device whose memory can be read only later, if `elastic` does
  /// not fit the way in which the processes were started, and if `communication` is unknown, or is "nccl" in some
  /// processes only; Error(state) if it is "nccl" and NCCL cannot connect the GPUs; CollectiveError if a process fails.
  explicit MultiWorkerMirroredStrategy(std::shared_ptr<Workers> workers, MultiWorkerOptions options = {});

  std::string_view name() const override { return "MultiWorkerMirroredStrategy"; }
  int num_replicas_in_sync() const override { return workers_->count(); }
  Device& device(int) override { return device_; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;
  std::size_t bucket_bytes() const override { return sums_->bucket_bytes(); }
  void start_all_reduce(std::span<const ReplicaSum> bucket, int number) override;
  void await_all_reduce(int number, std::size_t replica) override;
  Workers* workers() override { return workers_.get(); }
  /// The rank of this process. If it is elastic, that may change during fit.
  int rank() const { return workers_->rank(); }
  /// Whether this process has rank 0 among those that train. Only that one should write files, such as checkpoints.
  bool is_chief() const { return workers_->is_chief(); }

 private:
  /// Connects the devices of all processes by a library of theirs. Null if the host's memory is to be used.
  std::shared_ptr<Collective> connected_devices(const MultiWorkerOptions& options);
  /// Calls `sum`, and measures its time if there are watchers.
  template <class Sum> void timed(Sum sum);

  std::shared_ptr<Workers> workers_;
  Device& device_;
  std::shared_ptr<Collective> sums_;  ///< of the device's memory
};

}  // namespace etude
