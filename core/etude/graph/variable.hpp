#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/storage.hpp"
#include "etude/base/tensor.hpp"

namespace etude {

/// How one value becomes of what replicas assign to a variable, where they have each seen a share of the batch only.
/// Source: tf.VariableAggregation.
enum class Aggregation : std::uint8_t {
  none,  ///< It must not differ between them.
  sum,   ///< What each of them adds to the variable is added up.
  mean
};

/// State that outlives a step: a weight, an optimizer slot, a metric's sum, the learning rate. A handle: copies mean
/// the same variable. Its bytes lie in a Storage that it may share with others, so that many variables are one flat
/// block. Under several replicas it lies in one storage for each of them, and after every step all hold the same bits.
class Variable {
 public:
  Variable() = default;
  /// A variable holding `value`, in storage of its own until `flatten` moves it.
  Variable(std::string name, const Tensor& value, bool trainable = true, Aggregation aggregation = Aggregation::none);

  /// One without a value, that takes no memory: assign() gives it both. Before that it can be traced, not run.
  static Variable unset(std::string name, const Shape& shape, DType dtype, bool trainable,
                        Aggregation aggregation = Aggregation::none);

  /// What it is called.
  const std::string& name() const { return state_->name; }
  /// Its extents.
  const Shape& shape() const { return state_->shape; }
  /// Its element type.
  DType dtype() const { return state_->dtype; }
  /// Whether optimizers update it.
  bool trainable() const { return state_->trainable; }
  /// Sets what trainable() gives.
  void set_trainable(bool trainable) { state_->trainable = trainable; }
  /// How what replicas assign becomes one value.
  Aggregation aggregation() const { return state_->aggregation; }
  /// The number of elements.
  std::int64_t size() const { return shape().size(); }
  /// The bytes of all elements.
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype()); }

  /// A copy of the value on the host; of a replica's own, to look at it.
  Tensor value(int replica = 0) const;
  /// Sets the value, for all replicas; throws Error(shape) unless the shape is the variable's. Other dtypes are
  /// converted.
  void assign(const Tensor& value);
  /// Sets every element.
  void fill(double value);

  /// In how many storages it lies, one a replica. `flatten` decides that.
  int replicas() const { return static_cast<int>(state_->storages.size()); }
  /// Where a replica's bytes lie.
  const std::shared_ptr<Storage>& storage(int replica = 0) const {
    return state_->storages[static_cast<std::size_t>(replica)];
  }
  /// Gives the replicas from number `first` on what replica 0 holds.
  void broadcast(int first = 1);
  /// The first byte in its storages.
  std::size_t offset() const { return state_->offset; }
  /// Whether it lies in a block with others. Such a variable stays where it is.
  bool flat() const { return state_->flat; }
  /// The owner of the VariableScope in which it was made; null outside all.
  const std::shared_ptr<const void>& owner() const { return state_->owner; }
  /// Whether a layer, metric or optimizer made it for itself. Others are the user's: a layer whose call() reads one
  /// tracks it.
  bool managed() const { return state_->managed; }
  /// Says that a layer, metric or optimizer made it.
  void set_managed() { state_->managed = true; }
  /// How many variables had been made before it.
  std::uint64_t serial() const { return state_->serial; }
  /// How many variables have been made.
  static std::uint64_t count();
  /// Who it is: equal for handles of the same variable.
  const void* id() const { return state_.get(); }
  /// Whether it is a variable at all.
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
    std::vector<std::shared_ptr<Storage>> storages;
    std::size_t offset = 0;
    bool flat = false, managed = false;
    std::uint64_t serial = 0;
  };
  std::shared_ptr<State> state_;
};

/// While it lives, variables made on this thread are marked as `owner`'s: a strategy's scope does that.
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

/// Bytes that `flatten` needs: each variable begins at a multiple of 64.
std::size_t flat_bytes(const std::vector<Variable>& variables);
/// Moves the variables, values kept, into one block in the order given; for several replicas into one block each. A
/// variable is moved once, and not after a plan has been made that uses it.
void flatten(const std::vector<Variable>& variables, const std::vector<std::shared_ptr<Storage>>& storages);

}  // namespace etude
