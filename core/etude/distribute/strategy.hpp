#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "etude/base/detail/device_libraries.hpp"
#include "etude/devices/devices.hpp"
#include "etude/distribute/detail/per_replica.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

class RemoteSteps;
class Strategy;
class Workers;
using StrategyPtr = std::shared_ptr<Strategy>;
struct ReplicaSum;

/// The time of all-reduces. It is measured while there are watchers.
struct AllReduceClock {
  /// The number of callbacks that use the time.
  int watchers = 0;
  /// The time of all all-reduces, in milliseconds.
  double milliseconds = 0;
};

/// Chooses the devices of a model's steps. A model uses the strategy of the scope in which it was made. Source:
/// tf.distribute.Strategy.
class Strategy : public std::enable_shared_from_this<Strategy> {
 public:
  virtual ~Strategy() = default;
  /// The name of the strategy.
  virtual std::string_view name() const = 0;
  /// The number of replicas, in all processes.
  virtual int num_replicas_in_sync() const = 0;
  /// The number of replicas in this process.
  int num_local_replicas() { return others() ? 1 : num_replicas_in_sync(); }
  /// The number of replicas in processes of lower ranks.
  std::size_t first_local_replica();
  /// The device of one replica in this process.
  virtual Device& device(int replica = 0) = 0;
  /// The name of that device, such as "/gpu:0".
  std::string_view device_name(int replica = 0);
  /// Sums the Values at the current all-reduce of the replicas' plans. With one replica there are none.
  virtual void all_reduce(std::span<const ReplicaSum> bucket) { static_cast<void>(bucket); }
  /// The least bytes of a bucket if all-reduces run beside the replicas' work, as in Collective; else 0.
  virtual std::size_t bucket_bytes() const { return 0; }
  /// Starts an all-reduce, like Collective::start.
  virtual void start_all_reduce(std::span<const ReplicaSum> bucket, int number) {
    static_cast<void>(bucket);
    static_cast<void>(number);
  }
  /// Makes a replica wait for the bucket of this number, like Collective::await.
  virtual void await_all_reduce(int number, std::size_t replica) {
    static_cast<void>(number);
    static_cast<void>(replica);
  }
  /// Whether all its devices multiply half precision.
  bool multiplies_halves();
  /// Whether one device computes all replicas and their all-reduces. Then their step can be replayed.
  virtual bool all_reduces_on_device() const { return false; }
  /// The processes that have one replica each; null if all replicas are in this process.
  virtual Workers* workers() { return nullptr; }
  /// The same, in programs that can consist of several processes.
  Workers* others() { return has_device_libraries ? workers() : nullptr; }

  /// The object that computes the steps of fit and evaluate in other processes; null if this process computes them.
  virtual RemoteSteps* remote_steps() { return nullptr; }
  /// The same, in programs that can consist of several processes.
  RemoteSteps* remote() { return has_device_libraries ? remote_steps() : nullptr; }
  /// Where a train step lists the variables whose gradients are its outputs, for another process that updates them;
  /// null if the step updates them itself.
  virtual std::vector<Variable>* given_variables() { return nullptr; }

  /// While a scope exists, get_strategy() on this thread returns this strategy, and new variables belong to it.
  class Scope {
   public:
    /// Makes the strategy the current one of this thread.
    explicit Scope(StrategyPtr strategy);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    VariableScope variables_;
    StrategyPtr outer_;
  };
  /// Variables that are created during the lifetime of the result belong to this strategy.
  Scope scope() { return Scope(shared_from_this()); }
  /// Whether a variable was made within its scope. A strategy of one replica also accepts variables that were made
  /// outside all scopes.
  bool variable_created_in_scope(const Variable& variable) const;
  /// Allocates variables that have no memory yet, all in one block, on the device of each replica. With several
  /// processes, all of them get the values of rank 0. Throws Error(state) for a variable that was made in another
  /// scope.
  void place(const std::vector<Variable>& variables);

  /// Within a trace: the function from a replica's inputs to its results.
  using ReplicaFunction = std::function<std::vector<Value>(std::span<const Value>)>;
  /// Runs `function` once on each replica of this process, on its tensors of `inputs`, and returns the results, a
  /// PerReplica each. In the function, ops::all_reduce sums over the replicas, and assigned variables are the same on
  /// all of them. Throws Error(value) unless there is a tensor for each replica, Error(state) if the all-reduces of the
  /// replicas differ.
  std::vector<PerReplica> run(const ReplicaFunction& function, const std::vector<PerReplica>& inputs = {});
  /// The shards of a tensor's rows, those of this process, without copies. Throws Error(shape) if there are fewer rows
  /// than replicas.
  PerReplica split(const Tensor& whole);
  /// The values of all replicas, those of other processes included, as one: their sum or mean. `values` are those of
  /// this process. With several processes, all of them call it, and get the same bits.
  Tensor reduce(ReduceOp op, const PerReplica& values) { return etude::reduce(op, of_all(values)); }
  /// The same, concatenated along the first axis, in the order of the replicas and of the ranks.
  Tensor gather(const PerReplica& values) { return etude::reduce_per_replica(of_all(values), "concat"); }
  /// The same as the function reduce_per_replica.
  Tensor reduce_per_replica(const PerReplica& values, std::string_view reduction = "auto") {
    return etude::reduce_per_replica(of_all(values), reduction);
  }

  /// Measures while it has watchers.
  AllReduceClock& all_reduce_clock() { return all_reduce_clock_; }

 private:
  PerReplica of_all(const PerReplica& values);
  void share(const std::vector<Variable>& placed, Workers& workers);

  AllReduceClock all_reduce_clock_;
};

/// One replica on one device: the default device, or a given one, which must outlive the strategy.
class OneDeviceStrategy : public Strategy {
 public:
  OneDeviceStrategy() : OneDeviceStrategy(default_device()) {}
  /// Uses that device, which must outlive the strategy.
  explicit OneDeviceStrategy(Device& device) : device_(device) {}
  /// The device of that name, such as "/gpu:0" or "/cpu:0".
  explicit OneDeviceStrategy(std::string_view name) : OneDeviceStrategy(etude::device(name)) {}
  std::string_view name() const override { return "OneDeviceStrategy"; }
  int num_replicas_in_sync() const override { return 1; }
  Device& device(int) override { return device_; }

 private:
  Device& device_;
};

/// The strategy of the innermost scope, or OneDeviceStrategy outside all scopes.
StrategyPtr get_strategy();
/// Whether this thread is in a scope.
bool has_strategy();

}  // namespace etude
