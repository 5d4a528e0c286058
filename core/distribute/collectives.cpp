#include "etude/distribute/collectives.hpp"

#include <algorithm>
#include <array>

#include "etude/base/threads.hpp"

namespace etude {
namespace {

/// Elements that are added up in cache, and those that are worth a part of their own.
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
    /// Of each Value the part of that number.
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
  using namespace instruction;
  for (const ReplicaSum& value : bucket) {
    const auto replicas = static_cast<std::uint16_t>(value.parts.size());
    const Lane lane = lane_of(value.dtype);
    Elementwise add;
    std::vector<std::byte*> addresses;
    Segment& segment = add.segments.emplace_back();
    segment.size = value.count;
    const auto place = [&](const std::byte* address) {
      addresses.push_back(const_cast<std::byte*>(address));  // Addresses has one type for all spaces
      return Access{{static_cast<std::int32_t>(addresses.size()) - 1, 0, value.dtype}};
    };
    for (const std::byte* part : value.parts) {
      segment.inputs.push_back(place(part));
      add.program.inputs.push_back({lane});
    }
    // Registers: the parts, then their sum so far.
    for (std::uint16_t i = 1; i < replicas; ++i)
      add.program.steps.push_back(
          {opcode_of<op::Add>(), lane, lane, replicas, i == 1 ? std::uint16_t{0} : replicas, i, i});
    const std::uint16_t sum = replicas > 1 ? replicas : std::uint16_t{0};
    for (std::byte* out : value.sums) {
      segment.outputs.push_back(place(out));
      add.program.outputs.push_back({sum});
    }
    add.program.registers = static_cast<std::uint16_t>(replicas + 1);
    device_.run(add, addresses);
  }
}

}  // namespace etude
