#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/storage.hpp"
#include "etude/base/tensor.hpp"

namespace etude {

/// State that outlives a step: a weight, an optimizer slot, a metric's sum, the learning rate. A handle: copies mean
/// the same variable. Its bytes lie in a Storage that it may share with others, so that many variables are one flat
/// block.
class Variable {
 public:
  Variable() = default;
  /// A variable holding `value`, in storage of its own until `flatten` moves it.
  Variable(std::string name, const Tensor& value, bool trainable = true);

  const std::string& name() const { return state_->name; }
  const Shape& shape() const { return state_->shape; }
  DType dtype() const { return state_->dtype; }
  bool trainable() const { return state_->trainable; }
  void set_trainable(bool trainable) { state_->trainable = trainable; }
  std::int64_t size() const { return shape().size(); }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype()); }

  /// A copy of the value on the host.
  Tensor value() const;
  /// Sets the value; throws Error(shape) unless the shape is the variable's. Other dtypes are converted.
  void assign(const Tensor& value);
  /// Sets every element.
  void fill(double value);

  const std::shared_ptr<Storage>& storage() const { return state_->storage; }
  std::size_t offset() const { return state_->offset; }
  /// Whether it lies in a block with others. Such a variable stays where it is.
  bool flat() const { return state_->flat; }
  /// Who it is: equal for handles of the same variable.
  const void* id() const { return state_.get(); }
  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const Variable& a, const Variable& b) { return a.state_ == b.state_; }

  friend void flatten(const std::vector<Variable>& variables, const std::shared_ptr<Storage>& storage);

 private:
  struct State {
    std::string name;
    Shape shape;
    DType dtype;
    bool trainable;
    std::shared_ptr<Storage> storage;
    std::size_t offset = 0;
    bool flat = false;
  };
  std::shared_ptr<State> state_;
};

/// Bytes that `flatten` needs: each variable begins at a multiple of 64.
std::size_t flat_bytes(const std::vector<Variable>& variables);
/// Moves the variables, values kept, into one block in the order given. A variable is moved once, and not after a plan
/// has been made that uses it.
void flatten(const std::vector<Variable>& variables, const std::shared_ptr<Storage>& storage);

}  // namespace etude
