#include "etude/graph/variable.hpp"

#include <utility>

namespace etude {
namespace {

constexpr std::size_t alignment = 64;

std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

Variable::Variable(std::string name, const Tensor& value, bool trainable)
    : state_(std::make_shared<State>(State{std::move(name), value.shape(), value.dtype(), trainable,
                                           std::make_shared<Storage>(padded(value.bytes())), 0})) {
  assign(value);
}

Tensor Variable::value() const {
  Tensor result(shape(), dtype());
  state_->storage->read(state_->offset, result.raw(), bytes());
  return result;
}

void Variable::assign(const Tensor& value) {
  check(value.shape() == shape(), ErrorKind::shape, "Variable \"" + name() + '"', "assigned a value of shape ",
        value.shape(), " - expected ", shape(), " - reshape the value.");
  state_->storage->write(state_->offset, value.astype(dtype()).raw(), bytes());
}

void Variable::fill(double value) {
  Tensor filled(shape(), dtype());
  visit_dtype(dtype(), [&]<class T>(T) {
    for (T& element : filled.data<T>()) element = static_cast<T>(value);
  });
  assign(filled);
}

std::size_t flat_bytes(const std::vector<Variable>& variables) {
  std::size_t total = 0;
  for (const Variable& variable : variables) total += padded(variable.bytes());
  return total;
}

void flatten(const std::vector<Variable>& variables, const std::shared_ptr<Storage>& storage) {
  std::size_t offset = 0;
  for (const Variable& variable : variables) {
    const Tensor value = variable.value();
    storage->write(offset, value.raw(), value.bytes());
    variable.state_->storage = storage;
    variable.state_->offset = offset;
    variable.state_->flat = true;
    offset += padded(variable.bytes());
  }
}

}  // namespace etude
