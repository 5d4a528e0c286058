#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/data/dataset_creator.hpp"
#include "etude/distribute/cluster.hpp"
#include "etude/optimizers/optimizer.hpp"

namespace etude {

/// The processes of a cluster with a coordinator, and which of them this one is. Source: tf.train.ClusterSpec.
struct ServerCluster {
  /// The addresses at which workers run functions, and at which parameter servers keep variables: "host:port".
  std::vector<std::string> workers, servers;
  /// The role of this process: "chief", which coordinates, "worker", or "ps", a parameter server.
  std::string task = "chief";
  /// Its place in the list of its addresses.
  int index = 0;
  /// A text that only these processes know, as in Cluster. It is required, with 16 characters or more, unless all
  /// addresses are loopback.
  std::string secret = {};
};

/// The cluster that `TF_CONFIG` describes: {"cluster": {"chief": [..], "worker": ["host:port", ..], "ps": [..]},
/// "task": {"type": "ps", "index": 0}}. The secret is `ETUDE_SECRET`, or the content of the file `ETUDE_SECRET_FILE`.
/// Throws Error(value) if it is missing or malformed. Source: TFConfigClusterResolver of TensorFlow.
ServerCluster server_cluster_from_environment();
/// The same for a given environment.
ServerCluster server_cluster_from_environment(const EnvironmentReader& read);

/// A process of a cluster that ended, or does not answer. If it is a parameter server, its variables are lost: end the
/// program, and start all processes again from a checkpoint.
class UnavailableError : public Error {
 public:
  /// The text names the process, and `cause`.
  UnavailableError(std::string_view task, int index, std::string_view cause);
  /// "chief", "worker" or "ps".
  const std::string& task() const noexcept { return task_; }
  /// Its place in the list of its addresses; -1 for all workers.
  int index() const noexcept { return index_; }

 private:
  std::string task_;
  int index_;
};

/// How many parts a variable is divided into along its first axis. Each part is on one parameter server.
using Partitioner = std::function<std::int64_t(const Shape& shape, DType dtype)>;
/// As many parts as given, at most one for each row. Source: tf.distribute.experimental.partitioners.
Partitioner fixed_shards_partitioner(std::int64_t num_shards);
/// At most `max_shards` parts, of at least `min_shard_bytes` unless it is the only one.
Partitioner min_size_partitioner(std::int64_t min_shard_bytes = 256 << 10, std::int64_t max_shards = 1);

/// The variables of the parameter servers, by name, as a process sees them. All calls wait for the servers. They throw
/// UnavailableError if one of them ended or does not answer in time. They may come from several threads.
class ServerVariables {
 public:
  virtual ~ServerVariables() = default;
  /// Creates variables with these values, on one server after the other. Only trainable ones have slots in state()
  /// before their first gradient. Throws Error(value) for a name that exists, and for more parts than rows.
  virtual void create(const NamedTensors& values, const Partitioner& partitioner = {}, bool trainable = true) = 0;
  /// The current values of all variables.
  virtual NamedTensors pull() = 0;
  /// The current values of these variables. Throws Error(value) for a name that does not exist.
  virtual NamedTensors pull(const std::vector<std::string>& names) = 0;
  /// Each server applies its optimizer to its variables, with these gradients. Pushes of several workers are applied
  /// one after the other, in the order in which they arrive. Throws Error(value) for a name that does not exist,
  /// Error(shape) or Error(dtype) unless a gradient is like its variable, and Error(state) without an optimizer.
  virtual void push(const NamedTensors& gradients) = 0;
  /// Replaces values.
  virtual void assign(const NamedTensors& values) = 0;
  /// The values of all variables, and the state of the servers' optimizers, for a checkpoint: "optimizer/kernel/0" is
  /// the first slot of the variable "kernel", and "optimizer/0" the first variable that exists once. The parts of a
  /// slot are joined if they are like those of its variable; else the name has the first row: "optimizer/kernel:8/0".
  virtual NamedTensors state() = 0;
  /// Returns to a state() of variables with the same names. The number of servers, and of parts whose slots are joined,
  /// may differ. Throws Error(value) for another one.
  virtual void restore(const NamedTensors& state) = 0;
};

/// The context of a function of a worker. Source: tf.distribute.experimental.coordinator.
class WorkerContext {
 public:
  virtual ~WorkerContext() = default;
  /// The worker's place in the list of addresses.
  virtual int index() const = 0;
  /// The number of workers.
  virtual int count() const = 0;
  /// The variables of the parameter servers.
  virtual ServerVariables& variables() = 0;
  /// The next batch of a dataset of this worker, which was passed to schedule(). Throws Error(value) if it was not, and
  /// Error(data) at the end of the dataset.
  virtual Batch next(const std::string& dataset) = 0;
  /// The same of the only dataset that was passed to schedule(). Throws Error(value) for more or less than one.
  virtual Batch next() = 0;
};

/// A function that workers run. It may keep a model between its calls. It may be called again with the same arguments
/// on another worker, if its worker fails.
using WorkerFunction = std::function<std::vector<Tensor>(WorkerContext& worker, const std::vector<Tensor>& arguments)>;

/// The program of the processes of a cluster. It is the same in all of them.
struct ServerProgram {
  /// The functions that can be scheduled, by name.
  std::map<std::string, WorkerFunction> functions = {};
  /// The datasets of workers, by name. The InputContext has the number of workers and the index of this one.
  std::map<std::string, DatasetCreator> datasets = {};
  /// Creates the optimizer of each parameter server. It clips gradients by the norms of the parts that the server has,
  /// and counts the pushes that the server gets. It must not scale the loss.
  std::function<OptimizerPtr()> optimizer = {};
};

/// How the processes of a cluster communicate.
struct CoordinatorOptions {
  /// How long a process, or the network to it, may be silent, and how long the connection to a server may take. Then it
  /// is unavailable. The transfer of the largest message must be shorter.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  /// How long all workers may be unavailable before join() and fetch() throw; and how long workers and servers wait
  /// for a coordinator after the end of their connection, or after `timeout` if the network to it is lost.
  std::chrono::milliseconds absence = std::chrono::minutes(5);
};

/// Runs this process as a worker or a parameter server, until the coordinator ends. Throws UnavailableError if there is
/// none for `absence`; Error(value) for a task of another type, for an address at which it cannot listen, for addresses
/// beyond loopback without a secret, and for an optimizer that scales the loss. Data is neither encrypted nor
/// authenticated: use it only in a network that you trust. Programs that call it link etude::coordinator. Source:
/// tf.distribute.Server.
void run_server(const ServerCluster& cluster, const ServerProgram& program, CoordinatorOptions options = {});

/// The datasets that each worker creates by itself, when it first uses them.
struct PerWorkerDataset {
  /// Its name in the program.
  std::string name;
  /// The number of this creation.
  std::int64_t id = 0;
};

/// The result of a scheduled function.
class RemoteValue {
 public:
  /// The state of the call in the coordinator.
  struct State;
  /// A handle of that state.
  explicit RemoteValue(std::shared_ptr<State> state) : state_(std::move(state)) {}
  /// Its state.
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// Runs functions on the workers of a cluster, each on the next worker that is free. If a worker ends, its function is
/// scheduled again on another one, and a worker that was started again at the same address takes part again. Its
/// functions train the variables of the parameter servers asynchronously.
///
///     ClusterCoordinator coordinator(cluster, program);
///     coordinator.variables().create({{"w", Tensor({10})}});
///     for (int i = 0; i < 1000; ++i) coordinator.schedule("step");
///     coordinator.join();
///
/// Source: tf.distribute.coordinator.ClusterCoordinator.
class ClusterCoordinator {
 public:
  /// Connects with the parameter servers. Workers may come later. Throws Error(value) unless the task is "chief" and
  /// there are workers, and for addresses beyond loopback without a secret; UnavailableError for a server that does not
  /// answer in time.
  ClusterCoordinator(ServerCluster cluster, ServerProgram program, CoordinatorOptions options = {});
  /// Ends the workers and servers. Functions that did not begin are dropped.
  ~ClusterCoordinator();
  ClusterCoordinator(const ClusterCoordinator&) = delete;
  ClusterCoordinator& operator=(const ClusterCoordinator&) = delete;

  /// Schedules a function of the program, and returns at once. If a function has failed before, throws its error, which
  /// is then forgotten. Throws Error(value) for a name that is not in the program.
  RemoteValue schedule(const std::string& function, std::vector<Tensor> arguments = {},
                       std::vector<PerWorkerDataset> datasets = {});
  /// Waits until all scheduled functions have finished. If one of them has failed, those that did not begin are
  /// dropped, and its error is thrown and forgotten: an Error, with the text of the worker. Throws UnavailableError if
  /// a parameter server has ended, or if there is no worker for `absence`.
  void join();
  /// Whether all scheduled functions have finished. Throws as join() does.
  bool done();
  /// The results of a function. Waits until it has finished. Throws its error, and UnavailableError as join() does.
  std::vector<Tensor> fetch(const RemoteValue& value);
  /// A new pass of a dataset of the program for each worker. Throws Error(value) for a name that is not in the program.
  PerWorkerDataset create_per_worker_dataset(const std::string& name);
  /// The variables of the parameter servers. Throws Error(state) if the cluster has none.
  ServerVariables& variables();
  /// The number of workers that are connected now.
  int available_workers() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace etude
