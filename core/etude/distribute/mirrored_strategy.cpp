#include "etude/distribute/mirrored_strategy.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/detail/clock.hpp"
#include "etude/base/error.hpp"
#include "etude/base/threads.hpp"
#include "etude/devices/devices.hpp"
#include "etude/distribute/detail/collectives.hpp"
#include "etude/execution/device.hpp"

namespace etude {

namespace {

/// The default: without `devices` and `replicas`, a replica on each GPU, or for each of the processor's threads. If the
/// default device is another GPU than the first, one replica on that GPU.
std::vector<std::reference_wrapper<Device>> devices_of(int replicas) {
  Device& one = default_device();
  if (replicas == 0 && one.name() == "/gpu:0") {
    std::vector<std::reference_wrapper<Device>> gpus;
    for (const DeviceInfo& info : devices())
      if (info.name.starts_with("/gpu:")) gpus.emplace_back(device(info.name));
    if (!gpus.empty() && &gpus.front().get() == &one) return gpus;
  }
  const int wanted = replicas ? replicas : one.reads_host_memory() ? num_threads() : 1;
  return {static_cast<std::size_t>(wanted), one};
}

}  // namespace

MirroredStrategy::MirroredStrategy(MirroredOptions options) : options_(std::move(options)) {
  auto& [replicas, devices, collective] = options_;
  check(replicas >= 0 && (replicas == 0 || devices.empty() || devices.size() == static_cast<std::size_t>(replicas)),
        ErrorKind::value, "MirroredStrategy", "replicas = ", replicas, " with ", devices.size(),
        " devices - expected 1 or more, as many as devices - omit one of them.");
  if (devices.empty()) devices = devices_of(replicas);
  Device& first = devices.front();
  one_device_ = std::ranges::all_of(devices, [&](Device& one) { return &one == &first; });
  overlaps_ = !one_device_ && std::ranges::none_of(devices, [](Device& one) { return one.reads_host_memory(); });
  const bool on_host = std::ranges::all_of(devices, [](Device& one) { return one.reads_host_memory(); });
  if (collective) {
    check(on_host || !collective->in_host_memory(), ErrorKind::value, "MirroredStrategy", collective->name(),
          " for replicas on GPUs - expected a collective for the memory of their devices - omit it.");
    return;
  }
  if (on_host) {
    collective = std::make_shared<HostCollective>();
  } else if (one_device_) {
    collective = std::make_shared<ReductionToOneDevice>(first);
  } else {
    const auto gpu = std::ranges::find_if(devices, [](Device& one) { return !one.reads_host_memory(); });
    collective = gpu->get().collective(devices);
    check(collective != nullptr, ErrorKind::value, "MirroredStrategy", "replicas on several devices like ",
          gpu->get().name(),
          ", without a common all-reduce - expected processors, or GPUs - pass a custom collective.");
  }
}

template <class Join> void MirroredStrategy::timed(Join join) {
  AllReduceClock& clock = all_reduce_clock();
  const double began = clock.watchers ? monotonic_seconds() : 0;
  join(*options_.collective);
  if (clock.watchers) clock.milliseconds += 1e3 * (monotonic_seconds() - began);
}

void MirroredStrategy::all_reduce(std::span<const ReplicaSum> bucket) {
  timed([&](Collective& collective) { collective.all_reduce(bucket); });
}

void MirroredStrategy::start_all_reduce(std::span<const ReplicaSum> bucket, int number) {
  timed([&](Collective& collective) { collective.start(bucket, number); });
}

void MirroredStrategy::await_all_reduce(int number, std::size_t replica) {
  timed([&](Collective& collective) { collective.await(number, replica); });
}

}  // namespace etude
