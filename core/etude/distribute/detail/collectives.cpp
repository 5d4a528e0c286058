#include "etude/distribute/detail/collectives.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "etude/base/threads.hpp"
#include "etude/graph/detail/op.hpp"

namespace etude {
namespace {

/// The elements that one addition processes in cache, and the least elements of a thread's part.
constexpr std::int64_t tile = 1024, grain = 32 * tile;

template <class T> void add_up(const ReplicaSum& value, std::int64_t first, std::int64_t last) {
  std::array<T, tile> total;
  for (std::int64_t begin = first; begin < last; begin += tile) {
    const auto count = static_cast<std::size_t>(std::min(tile, last - begin));
    const auto part = [&](std::size_t replica) { return reinterpret_cast<const T*>(value.parts[replica]) + begin; };
    std::copy_n(part(0), count, total.begin());
    for (std::size_t replica = 1; replica < value.parts.size(); ++replica) {
      const T* more = part(replica);
      for (std::size_t i = 0; i < count; ++i) total[i] = static_cast<T>(total[i] + more[i]);
    }
    for (std::byte* sum : value.sums) std::copy_n(total.begin(), count, reinterpret_cast<T*>(sum) + begin);
  }
}

}  // namespace

void HostCollective::all_reduce(std::span<const ReplicaSum> bucket) {
  struct Work {
    std::span<const ReplicaSum> bucket;
    std::int64_t parts;
    /// Adds up this part of each Value.
    void operator()(int part) const {
      for (const ReplicaSum& value : bucket)
        visit_dtype(value.dtype, [&]<class T>(T) {
          add_up<T>(value, value.count * part / parts, value.count * (part + 1) / parts);
        });
    }
  };
  std::int64_t elements = 0;
  for (const ReplicaSum& value : bucket) elements += value.count;
  ThreadPool& pool = thread_pool();
  Work work{bucket, std::clamp<std::int64_t>(elements / grain, 1, 4 * std::int64_t{pool.count()})};
  pool.run(
      static_cast<int>(work.parts), [](void* given, int part) { (*static_cast<const Work*>(given))(part); }, &work);
}

void ReductionToOneDevice::all_reduce(std::span<const ReplicaSum> bucket) {
  std::vector<std::byte*> addresses;
  for (const ReplicaSum& value : bucket) {
    addresses.clear();
    // The parts are only read: Addresses has one type for all spaces.
    for (const std::byte* part : value.parts) addresses.push_back(const_cast<std::byte*>(part));
    addresses.insert(addresses.end(), value.sums.begin(), value.sums.end());
    device_.run(std::span(&sum_of(value), 1), addresses);
  }
}

/// The instruction that sums a Value. It has a space for each part, then one for each sum.
const Instruction& ReductionToOneDevice::sum_of(const ReplicaSum& value) {
  using namespace instruction;
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] =
      sums_.try_emplace({value.dtype, value.count, value.parts.size(), value.sums.size()}, Elementwise{});
  if (!is_new) return found->second;
  auto& add = std::get<Elementwise>(found->second);
  const auto replicas = static_cast<std::uint16_t>(value.parts.size());
  const Lane lane = lane_of(value.dtype);
  Segment& segment = add.segments.emplace_back();
  segment.size = value.count;
  std::int32_t space = 0;
  // Registers: the parts, then the sum so far.
  for (std::uint16_t i = 0; i < replicas; ++i) {
    segment.inputs.push_back({{space++, 0, value.dtype}});
    add.program.inputs.push_back({lane});
    if (i > 0)
      add.program.steps.push_back(
          {opcode_of<op::Add>(), lane, lane, replicas, i == 1 ? std::uint16_t{0} : replicas, i, i});
  }
  const std::uint16_t sum = replicas > 1 ? replicas : std::uint16_t{0};
  for (std::size_t i = 0; i < value.sums.size(); ++i) {
    segment.outputs.push_back({{space++, 0, value.dtype}});
    add.program.outputs.push_back({sum});
  }
  add.program.registers = static_cast<std::uint16_t>(replicas + 1);
  device_.prepare(std::span(&found->second, 1));
  return found->second;
}

}  // namespace etude
