#include "etude/training/detail/resident_arrays.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace etude {

bool ResidentArrays::fit(const Batch& arrays) const {
  if (arrays.size() > std::numeric_limits<std::int32_t>::max()) return false;
  const int replicas = strategy_->num_local_replicas();
  // Device memory holds the arrays once, and the order of rows for each replica.
  std::size_t bytes = static_cast<std::size_t>(replicas * arrays.size()) * sizeof(std::int32_t);
  for_each_tensor(arrays, [&](const Tensor& tensor) { bytes += tensor.bytes(); });
  // The same amount of memory stays free for plans.
  for (int replica = 0; replica < replicas; ++replica)
    if (const Device& device = strategy_->device(replica);
        device.reads_host_memory() || device.free_memory() / 2 < bytes)
      return false;
  return true;
}

bool ResidentArrays::continues(const Batch& batch, int replicas) const {
  const Selection& selection = batch.selection;
  return arrays_ == selection.arrays &&
         std::ranges::all_of(std::span(orders_).first(static_cast<std::size_t>(replicas)), [&](const Order& order) {
           return order.pass == selection.pass && order.next == selection.first;
         });
}

std::span<const SelectedRows> ResidentArrays::upload(const Batch& batch, std::span<const std::int64_t> first_rows) {
  const Selection& selection = batch.selection;
  hold(selection.arrays);
  selected_.clear();
  for (std::size_t replica = 0; replica < first_rows.size(); ++replica) {
    auto& [storage, pass, next] = orders_[replica];
    const auto first = static_cast<std::int32_t>(selection.first);
    if (pass != selection.pass) storage->write(sizeof first, selection.order.data(), selection.order.size_bytes());
    if (pass != selection.pass || next != selection.first) storage->write(0, &first, sizeof first);
    pass = selection.pass;
    next = selection.first + batch.size();
    selected_.push_back({storages_[replica], storage.get(), first_rows[replica], batch.size()});
  }
  return selected_;
}

void ResidentArrays::hold(const std::shared_ptr<const Batch>& arrays) {
  if (arrays_ == arrays) return;
  release();
  std::map<Device*, std::vector<std::shared_ptr<Storage>>> on;
  for (int replica = 0; replica < strategy_->num_local_replicas(); ++replica) {
    Device& device = strategy_->device(replica);
    auto& storages = on[&device];
    if (storages.empty())
      for_each_tensor(*arrays, [&](const Tensor& tensor) {
        storages.push_back(device.allocate(tensor.bytes()));
        storages.back()->write(0, tensor.raw(), tensor.bytes());
      });
    storages_.push_back(storages);
    orders_.push_back({device.allocate((static_cast<std::size_t>(arrays->size()) + 1) * sizeof(std::int32_t))});
  }
  arrays_ = arrays;
}

void ResidentArrays::release() {
  arrays_.reset();
  storages_.clear();
  orders_.clear();
}

}  // namespace etude
