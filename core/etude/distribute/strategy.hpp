#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "etude/distribute/collectives.hpp"
#include "etude/distribute/per_replica.hpp"
#include "etude/execution/devices.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

class Strategy;
using StrategyPtr = std::shared_ptr<Strategy>;

/// How long sums over replicas take. Measured while there are watchers.
struct JoinClock {
  /// How many callbacks want to know the time.
  int watchers = 0;
  /// The time that replicas have waited for each other, in milliseconds.
  double milliseconds = 0;
};

/// Where a model's steps run. A model asks the strategy in whose scope it was made. Source: tf.distribute.Strategy.
class Strategy : public std::enable_shared_from_this<Strategy> {
 public:
  virtual ~Strategy() = default;
  /// What it is called.
  virtual std::string_view name() const = 0;
  /// The number of replicas.
  virtual int num_replicas_in_sync() const = 0;
  /// The device of one replica.
  virtual Device& device(int replica = 0) = 0;
  /// Sums what the replicas' plans have come to join. Where there is one, there is nothing to join.
  virtual void all_reduce(std::span<const ReplicaSum> bucket) { static_cast<void>(bucket); }
  /// Whether the products of all its devices take half precision.
  bool multiplies_halves();
  /// Whether one device computes all replicas and joins them as it goes: then their step can be replayed.
  virtual bool joins_on_device() const { return false; }

  /// While it lives, get_strategy() on this thread gives this strategy, and variables are made as this strategy's.
  class Scope {
   public:
    /// Makes the strategy that of this thread.
    explicit Scope(StrategyPtr strategy);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    VariableScope variables_;
    StrategyPtr outer_;
  };
  /// Makes this strategy the one in which variables are made, while the result lives.
  Scope scope() { return Scope(shared_from_this()); }
  /// Whether a variable was made within its scope. One replica takes those made outside all scopes too.
  bool variable_created_in_scope(const Variable& variable) const;
  /// Gives those variables that have none yet a place, all in one block, on the device of each replica. Throws
  /// Error(state) for a variable that was made in another scope.
  void place(const std::vector<Variable>& variables);

  /// Within a trace: what a replica makes of its inputs.
  using ReplicaFunction = std::function<std::vector<Value>(std::span<const Value>)>;
  /// Runs `function` once on each replica, on its tensors of `inputs`, and gives what the replicas made, a PerReplica
  /// for each result. In it ops::all_reduce joins them, and what it assigns to variables all have. Throws Error(value)
  /// unless there is a tensor for each replica, Error(state) where they do not join the same.
  std::vector<PerReplica> run(const ReplicaFunction& function, const std::vector<PerReplica>& inputs = {});
  /// The shares of a tensor's rows, without copying them. Throws Error(shape) where there are fewer than replicas.
  PerReplica split(const Tensor& whole) const;
  /// The values of all replicas as one: their sum or mean.
  Tensor reduce(ReduceOp op, const PerReplica& values) const { return etude::reduce(op, values); }

  /// Counts while it has watchers.
  JoinClock& join_clock() { return join_clock_; }

 private:
  JoinClock join_clock_;
};

/// Everything on one device: the default one unless another is given, which must outlive the strategy.
class OneDeviceStrategy : public Strategy {
 public:
  OneDeviceStrategy() : OneDeviceStrategy(default_device()) {}
  /// Everything on that device, which must outlive the strategy.
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
/// Whether there is a scope around.
bool has_strategy();

}  // namespace etude
