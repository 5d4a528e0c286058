#include "etude/distribute/strategy.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/distribute/workers.hpp"
#include "etude/execution/device.hpp"

namespace etude {
namespace {

thread_local StrategyPtr current;

}  // namespace

Strategy::Scope::Scope(StrategyPtr strategy)
    : variables_(strategy), outer_(std::exchange(current, std::move(strategy))) {}
Strategy::Scope::~Scope() { current = std::move(outer_); }

StrategyPtr get_strategy() {
  if (current) return current;
  thread_local StrategyPtr fallback;
  if (!fallback || &fallback->device() != &default_device()) fallback = std::make_shared<OneDeviceStrategy>();
  return fallback;
}

bool has_strategy() { return current != nullptr; }

std::size_t Strategy::first_local_replica() {
  Workers* const workers = others();
  return workers ? static_cast<std::size_t>(workers->rank()) : 0;
}

std::string_view Strategy::device_name(int replica) { return device(replica).name(); }

bool Strategy::multiplies_halves() {
  for (int replica = 0; replica < num_local_replicas(); ++replica)
    if (!device(replica).multiplies_halves()) return false;
  return true;
}

bool Strategy::variable_created_in_scope(const Variable& variable) const {
  return variable.owner().get() == this || (!variable.owner() && num_replicas_in_sync() == 1);
}

void Strategy::place(const std::vector<Variable>& variables) {
  std::vector<Variable> fresh;
  for (const Variable& variable : variables) {
    check(variable_created_in_scope(variable), ErrorKind::state, name(), "Variable (", variable.name(),
          ") was not created in the distribution strategy scope of (", name(),
          ") - expected layers, model and optimizer to be created within it - create them during strategy->scope().");
    if (!variable.flat() && std::ranges::find(fresh, variable) == fresh.end()) fresh.push_back(variable);
  }
  if (fresh.empty()) return;
  std::vector<std::shared_ptr<Storage>> storages;
  for (int replica = 0; replica < num_local_replicas(); ++replica)
    storages.push_back(device(replica).allocate(flat_bytes(fresh)));
  flatten(fresh, storages);
  if (Workers* const workers = others()) share(fresh, *workers);
}

/// Gives all processes the values of rank 0.
void Strategy::share(const std::vector<Variable>& placed, Workers& workers) {
  const auto bytes = static_cast<std::int64_t>(flat_bytes(placed));
  for (const std::int64_t others : workers.all_gather(bytes))
    check(others == bytes, ErrorKind::state, name(), "variables of ", bytes, " bytes in this process and of ", others,
          " bytes in another - expected the same model in all processes - run the same program in them.");
  Storage& storage = *placed.front().storage();
  const auto count = static_cast<std::size_t>(bytes);
  if (storage.in_host_memory()) return workers.broadcast({storage.address(), count});
  std::vector<std::byte> on_host(count);
  storage.read(0, on_host.data(), count);
  workers.broadcast(on_host);
  storage.write(0, on_host.data(), count);
}

/// The values of the replicas of all processes.
PerReplica Strategy::of_all(const PerReplica& values) {
  Workers* const workers = others();
  if (!workers) return values;
  check(values.size() == 1, ErrorKind::value, name(), values.size(),
        " tensors in this process - expected one, that of its replica - pass the result of run().");
  const Tensor& own = values.front();
  using Form = std::array<std::int64_t, 2 + Shape::max_rank>;
  Form form{static_cast<std::int64_t>(own.dtype()), static_cast<std::int64_t>(own.shape().rank())};
  std::ranges::copy(own.shape(), form.begin() + 2);
  std::vector<Form> forms(static_cast<std::size_t>(workers->count()));
  workers->all_gather(std::as_bytes(std::span(form)), std::vector<std::size_t>(forms.size(), sizeof form),
                      std::as_writable_bytes(std::span(forms)).data());
  PerReplica all;
  std::vector<std::size_t> sizes;
  std::size_t bytes = 0;
  for (const Form& each : forms) {
    Shape shape;
    for (std::int64_t axis = 0; axis < each[1]; ++axis) shape.append(each[static_cast<std::size_t>(2 + axis)]);
    bytes += sizes.emplace_back(all.emplace_back(shape, static_cast<DType>(each[0])).bytes());
  }
  std::vector<std::byte> memory(bytes);
  workers->all_gather({own.raw(), own.bytes()}, sizes, memory.data());
  const std::byte* at = memory.data();
  for (Tensor& tensor : all) {
    std::copy_n(at, tensor.bytes(), tensor.raw());
    at += tensor.bytes();
  }
  return all;
}

PerReplica Strategy::split(const Tensor& whole) {
  const int replicas = num_replicas_in_sync();
  check(whole.shape().rank() > 0 && whole.shape()[0] >= replicas, ErrorKind::shape, name(), "a tensor of shape ",
        whole.shape(), " - expected at least ", replicas, " rows, one for each replica - pass more rows.");
  PerReplica shares;
  for (int i = 0; i < num_local_replicas(); ++i) {
    const auto [begin, end] = rows_of(whole.shape()[0], replicas, static_cast<int>(first_local_replica()) + i);
    shares.push_back(whole.rows(begin, end));
  }
  return shares;
}

}  // namespace etude
