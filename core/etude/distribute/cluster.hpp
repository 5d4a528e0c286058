#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/distribute/workers.hpp"

namespace etude {

/// The processes that train one model, and which of them this one is.
struct Cluster {
  /// The rank of this process, from 0 to `size` - 1. Rank 0 is the chief.
  int rank = 0;
  /// The number of processes.
  int size = 1;
  /// The address at which the chief waits for the others, such as "10.0.0.1:2222" or "[::1]:2222".
  std::string chief = "127.0.0.1:0";
  /// The host name or address of this process, to which its connections are bound.
  std::string host = "127.0.0.1";
  /// How often the processes were started again. Processes of other generations are refused.
  int generation = 0;
  /// A text that only these processes know, by which they recognize each other. It is required, with 16 characters or
  /// more, unless all addresses are loopback.
  std::string secret = {};
  /// The address at which a server decides which processes take part, if they may leave and join. Empty: they may not.
  std::string membership = {};
};

/// A variable of the environment; none if it is not set.
using EnvironmentReader = std::function<std::optional<std::string>(const std::string& name)>;

/// The cluster that the launcher of this process describes. The first of these that is set:
///
/// - `TF_CONFIG`: {"cluster": {"worker": ["host:port", ..]}, "task": {"type": "worker", "index": 0}}. An optional
///   "chief" has rank 0.
/// - `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT`, as torchrun sets them.
/// - `SLURM_PROCID` and `SLURM_STEP_NUM_TASKS`, as srun sets them for several tasks.
/// - `OMPI_COMM_WORLD_RANK` and `OMPI_COMM_WORLD_SIZE`, as mpirun of Open MPI sets them for several processes.
///
/// Otherwise it is one process. With SLURM and Open MPI, `MASTER_ADDR` must be set too, unless all processes are on one
/// machine; then the default is 127.0.0.1. The default of `MASTER_PORT` is 29500. Without `TF_CONFIG`, `ETUDE_HOST`
/// is the address of this machine. Its default is `MASTER_ADDR` for rank 0, and for all ranks if `MASTER_ADDR` is
/// 127.0.0.1; otherwise it is the name of the machine. The generation is `ETUDE_RESTARTS`, which etude-launch sets, or
/// `TORCHELASTIC_RESTART_COUNT`. The secret is `ETUDE_SECRET`, or the content of the file `ETUDE_SECRET_FILE`. The
/// address of the membership is `ETUDE_MEMBERSHIP`, which etude-launch --elastic sets. Throws
/// Error(value) for a variable that is missing or malformed. Source: TFConfigClusterResolver and SlurmClusterResolver
/// of TensorFlow, and the environment variables that torchrun, srun and mpirun document.
Cluster cluster_from_environment();
/// The same for a given environment.
Cluster cluster_from_environment(const EnvironmentReader& read);

/// How processes communicate.
struct WorkerOptions {
  /// The longest that an operation waits for another process. It includes the time that the others need for the part of
  /// a step before.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  /// The longest that a process waits until all others are connected.
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(5);
  /// The longest that a process may be silent, if processes may leave and join. It answers the server on a separate
  /// thread, so that only a process that is stopped, or whose machine is lost, is silent. It is removed.
  std::chrono::milliseconds silence = std::chrono::seconds(10);
  /// The least bytes of gradients that Gloo sums at a time. A sum starts when its gradients are computed, and runs
  /// beside the rest of the backward pass. 0: 1 MB. All processes use the packs of rank 0. Source:
  /// tf.distribute.experimental.CommunicationOptions.
  std::size_t bytes_per_pack = 0;
};

/// Connects this process with those of its cluster, by Gloo over TCP, and returns when all of them are connected.
/// They prove to the chief, and it to them, that they know the same secret. Their data is neither encrypted nor
/// authenticated: use it only in a network that you trust. Throws Error(value) for addresses beyond loopback without a
/// secret; CollectiveError if a process is missing after `connect_timeout`, or has another secret; Error(state) in a
/// build without Gloo. Programs that call it link etude::gloo.
std::shared_ptr<Workers> connect_workers(const Cluster& cluster, WorkerOptions options = {});

}  // namespace etude
