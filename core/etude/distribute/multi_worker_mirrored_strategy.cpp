#include "etude/distribute/multi_worker_mirrored_strategy.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/detail/clock.hpp"
#include "etude/base/error.hpp"
#include "etude/base/random.hpp"
#include "etude/execution/device.hpp"

namespace etude {

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(std::shared_ptr<Workers> workers, MultiWorkerOptions options)
    : workers_(std::move(workers)), device_(default_device()) {
  check(workers_ != nullptr, ErrorKind::value, "MultiWorkerMirroredStrategy",
        "no workers - expected the processes of a cluster - pass connect_workers(cluster_from_environment()).");
  check(device_.reads_host_memory(), ErrorKind::value, "MultiWorkerMirroredStrategy", device_.name(),
        " as default device - expected a processor - pass one to set_default_device.");
  check(options.elastic == workers_->elastic() || (!workers_->elastic() && workers_->count() == 1), ErrorKind::value,
        "MultiWorkerMirroredStrategy", "elastic = ", options.elastic ? "true" : "false",
        " in processes that were started ", workers_->elastic() ? "with" : "without",
        " etude-launch --elastic - expected both or none - change one of them.");
  const std::vector<std::int64_t> seeds = workers_->all_gather(static_cast<std::int64_t>(random_seed()));
  if (std::ranges::any_of(seeds, [&](std::int64_t seed) { return seed != seeds.front(); }))
    set_random_seed(static_cast<std::uint64_t>(seeds.front()));
}

void MultiWorkerMirroredStrategy::all_reduce(std::span<const ReplicaSum> bucket) {
  AllReduceClock& clock = all_reduce_clock();
  const double began = clock.watchers ? monotonic_seconds() : 0;
  workers_->all_reduce(bucket);
  if (clock.watchers) clock.milliseconds += 1e3 * (monotonic_seconds() - began);
}

}  // namespace etude
