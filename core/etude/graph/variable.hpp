#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/detail/storage.hpp"
#include "etude/base/tensor.hpp"

namespace etude {

/// The aggregation of the replicas' values in an assignment to a variable, when each has processed only its shard of
/// the batch. Source: tf.VariableAggregation.
enum class Aggregation : std::uint8_t {
  none,  ///< The values must not differ.
  sum,   ///< The changes of all replicas are added to the variable.
  mean
};

class Value;

/// A function of a variable that optimizers apply after each update.
class VariableConstraint {
 public:
  virtual ~VariableConstraint() = default;
  /// Within a trace: the new value, of the same shape and dtype.
  virtual Value operator()(Value x) const = 0;
};

/// State that outlives a step: a weight, an optimizer slot, a metric's sum, the learning rate. It is a handle: copies
/// refer to the same variable. Its data is in a Storage, which variables may share as one flat block. With several
/// replicas it is in one storage per replica, and after every step all hold the same bits.
class Variable {
 public:
  Variable() = default;
  /// A variable with the value `value`, in its own storage until `flatten` moves it.
  Variable(std::string name, const Tensor& value, bool trainable = true, Aggregation aggregation = Aggregation::none);

  /// A variable without a value and without memory. assign() provides both. Before that it can be traced, but no step
  /// can run.
  static Variable unset(std::string name, const Shape& shape, DType dtype, bool trainable,
                        Aggregation aggregation = Aggregation::none);

  /// Its name.
  const std::string& name() const { return state_->name; }
  /// Its extents.
  const Shape& shape() const { return state_->shape; }
  /// Its element type.
  DType dtype() const { return state_->dtype; }
  /// Whether optimizers update it.
  bool trainable() const { return state_->trainable; }
  /// Sets the result of trainable().
  void set_trainable(bool trainable) { state_->trainable = trainable; }
  /// Its constraint; null if it has none.
  const std::shared_ptr<const VariableConstraint>& constraint() const { return state_->constraint; }
  /// Sets its constraint, which takes effect at the next trace.
  void set_constraint(std::shared_ptr<const VariableConstraint> constraint) {
    state_->constraint = std::move(constraint);
  }
  /// How the values that replicas assign become one value.
  Aggregation aggregation() const { return state_->aggregation; }
  /// The number of elements.
  std::int64_t size() const { return shape().size(); }
  /// The bytes of all elements.
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype()); }

  /// A copy of the value on the host. `replica` selects the replica.
  Tensor value(int replica = 0) const;
  /// Sets the value, for all replicas; throws Error(shape) unless the shape is the variable's. Other dtypes are
  /// converted.
  void assign(const Tensor& value);
  /// Sets every element.
  void fill(double value);

  /// The number of its storages, one per replica, set by `flatten`.
  int replicas() const { return static_cast<int>(state_->storages.size()); }
  /// The storage of a replica's bytes.
  const std::shared_ptr<Storage>& storage(int replica = 0) const {
    return state_->storages[static_cast<std::size_t>(replica)];
  }
  /// Copies the value of replica 0 to the replicas from `first` on.
  void broadcast(int first = 1);
  /// The first byte in its storages.
  std::size_t offset() const { return state_->offset; }
  /// Whether it shares a block with others. Such a variable is not moved again.
  bool flat() const { return state_->flat; }
  /// The owner of the VariableScope in which it was made; null outside all scopes.
  const std::shared_ptr<const void>& owner() const { return state_->owner; }
  /// Whether a layer, metric or optimizer made it. Other variables are the user's: a layer whose call() reads one
  /// tracks it.
  bool managed() const { return state_->managed; }
  /// Marks it as made by a layer, metric or optimizer.
  void set_managed() { state_->managed = true; }
  /// The number of variables that were made before it.
  std::uint64_t serial() const { return state_->serial; }
  /// The number of variables that were made so far.
  static std::uint64_t count();
  /// Its identity: equal for handles of the same variable.
  const void* id() const { return state_.get(); }
  /// Whether it refers to a variable.
  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const Variable& a, const Variable& b) { return a.state_ == b.state_; }

  friend void flatten(const std::vector<Variable>& variables, const std::vector<std::shared_ptr<Storage>>& storages);

 private:
  struct State {
    std::string name;
    Shape shape;
    DType dtype;
    bool trainable;
    Aggregation aggregation;
    std::shared_ptr<const void> owner;
    std::shared_ptr<const VariableConstraint> constraint;
    std::vector<std::shared_ptr<Storage>> storages;
    std::size_t offset = 0;
    bool flat = false, managed = false;
    std::uint64_t serial = 0;
  };
  std::shared_ptr<State> state_;
};

/// While it exists, variables that are made on this thread belong to `owner`, for example a strategy's scope.
class VariableScope {
 public:
  /// Marks variables as `owner`'s from now on.
  explicit VariableScope(std::shared_ptr<const void> owner);
  ~VariableScope();
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;

 private:
  std::shared_ptr<const void> outer_;
};

/// The bytes that `flatten` needs: each variable begins at a multiple of 64.
std::size_t flat_bytes(const std::vector<Variable>& variables);
/// Moves the variables with their values into one block, in the given order; with several replicas into one block each.
/// A variable is moved once, and not after a plan that uses it was made.
void flatten(const std::vector<Variable>& variables, const std::vector<std::shared_ptr<Storage>>& storages);

}  // namespace etude
