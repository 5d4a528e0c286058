#include "etude/distribute/mirrored_strategy.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/clock.hpp"
#include "etude/base/error.hpp"
#include "etude/base/threads.hpp"

namespace etude {

MirroredStrategy::MirroredStrategy(MirroredOptions options) : options_(std::move(options)) {
  auto& [replicas, devices, collective] = options_;
  check(replicas >= 0 && (replicas == 0 || devices.empty() || devices.size() == static_cast<std::size_t>(replicas)),
        ErrorKind::value, "MirroredStrategy", "replicas = ", replicas, " with ", devices.size(),
        " devices - expected 1 or more, as many as devices - leave one of both out.");
  if (devices.empty()) {
    Device& one = default_device();
    devices.assign(static_cast<std::size_t>(replicas ? replicas : one.reads_host_memory() ? num_threads() : 1), one);
  }
  one_device_ = std::ranges::all_of(devices, [&](Device& one) { return &one == &devices.front().get(); });
  const bool on_host = std::ranges::all_of(devices, [](Device& one) { return one.reads_host_memory(); });
  if (collective) {
    check(
        on_host || !collective->in_host_memory(), ErrorKind::value, "MirroredStrategy", collective->name(),
        " for replicas on GPUs - expected what joins the memory of their devices - leave it out where one GPU computes "
        "all of them.");
  } else if (on_host) {
    collective = std::make_shared<HostCollective>();
  } else {
    check(one_device_, ErrorKind::value, "MirroredStrategy",
          "replicas on several GPUs - expected them on processors or all on one GPU - pass a collective that joins "
          "them.");
    collective = std::make_shared<ReductionToOneDevice>(devices.front().get());
  }
}

void MirroredStrategy::all_reduce(std::span<const ReplicaSum> bucket) {
  JoinClock& clock = join_clock();
  const double began = clock.watchers ? monotonic_seconds() : 0;
  options_.collective->all_reduce(bucket);
  if (clock.watchers) clock.milliseconds += 1e3 * (monotonic_seconds() - began);
}

}  // namespace etude
