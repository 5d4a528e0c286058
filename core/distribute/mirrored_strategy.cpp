#include "etude/distribute/mirrored_strategy.hpp"

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
  if (devices.empty()) devices.assign(static_cast<std::size_t>(replicas ? replicas : num_threads()), default_device());
  if (!collective) collective = std::make_shared<HostCollective>();
}

void MirroredStrategy::all_reduce(std::span<const ReplicaSum> bucket) {
  JoinClock& clock = join_clock();
  const double began = clock.watchers ? monotonic_seconds() : 0;
  options_.collective->all_reduce(bucket);
  if (clock.watchers) clock.milliseconds += 1e3 * (monotonic_seconds() - began);
}

}  // namespace etude
