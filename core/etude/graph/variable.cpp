#include "etude/graph/variable.hpp"

#include <atomic>
#include <utility>

namespace etude {
namespace {

constexpr std::size_t alignment = 64;

thread_local std::shared_ptr<const void> current_owner;
std::atomic<std::uint64_t> made = 0;

std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

Variable::Variable(std::string name, const Tensor& value, bool trainable, Aggregation aggregation)
    : Variable(unset(std::move(name), value.shape(), value.dtype(), trainable, aggregation)) {
  assign(value);
}

std::uint64_t Variable::count() { return made; }

Variable Variable::unset(std::string name, const Shape& shape, DType dtype, bool trainable, Aggregation aggregation) {
  Variable variable;
  variable.state_ =
      std::make_shared<State>(State{std::move(name), shape, dtype, trainable, aggregation, current_owner, {}, {}});
  variable.state_->serial = made++;
  return variable;
}

Tensor Variable::value(int replica) const {
  check(replicas() > 0, ErrorKind::state, "Variable " + name(),
        "read while its model is loaded, before it has a value - expected reads after that - do not read weights in "
        "build() or a constructor.");
  Tensor result(shape(), dtype());
  storage(replica)->read(state_->offset, result.raw(), bytes());
  return result;
}

void Variable::assign(const Tensor& value) {
  check(value.shape() == shape(), ErrorKind::shape, "Variable \"" + name() + '"', "assigned a value of shape ",
        value.shape(), " - expected ", shape(), " - reshape the value.");
  if (state_->storages.empty()) state_->storages.push_back(std::make_shared<Storage>(padded(bytes())));
  storage()->write(state_->offset, value.astype(dtype()).raw(), bytes());
  broadcast();
}

void Variable::broadcast(int first) {
  for (int replica = first; replica < replicas(); ++replica)
    storage(replica)->copy(state_->offset, *storage(), bytes());
}

void Variable::fill(double value) {
  Tensor filled(shape(), dtype());
  visit_dtype(dtype(), [&]<class T>(T) {
    for (T& element : filled.data<T>()) element = static_cast<T>(value);
  });
  assign(filled);
}

VariableScope::VariableScope(std::shared_ptr<const void> owner)
    : outer_(std::exchange(current_owner, std::move(owner))) {}
VariableScope::~VariableScope() { current_owner = std::move(outer_); }

std::size_t flat_bytes(const std::vector<Variable>& variables) {
  std::size_t total = 0;
  for (const Variable& variable : variables) total += padded(variable.bytes());
  return total;
}

void flatten(const std::vector<Variable>& variables, const std::vector<std::shared_ptr<Storage>>& storages) {
  std::size_t offset = 0;
  for (Variable variable : variables) {
    const Tensor value = variable.value();
    variable.state_->storages = storages;
    variable.state_->offset = offset;
    variable.state_->flat = true;
    variable.assign(value);
    offset += padded(variable.bytes());
  }
}

}  // namespace etude
