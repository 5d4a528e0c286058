#include "etude/distribute/multi_worker_mirrored_strategy.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/detail/clock.hpp"
#include "etude/base/error.hpp"
#include "etude/base/random.hpp"
#include "etude/distribute/detail/staged_sums.hpp"
#include "etude/execution/device.hpp"

namespace etude {

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(std::shared_ptr<Workers> workers, MultiWorkerOptions options)
    : workers_(std::move(workers)), device_(default_device()) {
  check(workers_ != nullptr, ErrorKind::value, "MultiWorkerMirroredStrategy",
        "no workers - expected the processes of a cluster - pass connect_workers(cluster_from_environment()).");
  check(!device_.reads_later(), ErrorKind::value, "MultiWorkerMirroredStrategy", device_.name(),
        " as default device - expected a processor or a GPU - pass one to set_default_device.");
  check(options.elastic == workers_->elastic() || (!workers_->elastic() && workers_->count() == 1), ErrorKind::value,
        "MultiWorkerMirroredStrategy", "elastic = ", options.elastic ? "true" : "false",
        " in processes that were started ", workers_->elastic() ? "with" : "without",
        " etude-launch --elastic - expected both or none - change one of them.");
  if (device_.reads_host_memory())
    sums_ = workers_;
  else
    sums_ = std::make_shared<StagedSums>(device_, *workers_);
  const std::vector<std::int64_t> seeds = workers_->all_gather(static_cast<std::int64_t>(random_seed()));
  if (std::ranges::any_of(seeds, [&](std::int64_t seed) { return seed != seeds.front(); }))
    set_random_seed(static_cast<std::uint64_t>(seeds.front()));
}

template <class Sum> void MultiWorkerMirroredStrategy::timed(Sum sum) {
  AllReduceClock& clock = all_reduce_clock();
  const double began = clock.watchers ? monotonic_seconds() : 0;
  sum(*sums_);
  if (clock.watchers) clock.milliseconds += 1e3 * (monotonic_seconds() - began);
}

void MultiWorkerMirroredStrategy::all_reduce(std::span<const ReplicaSum> bucket) {
  timed([&](Collective& sums) { sums.all_reduce(bucket); });
}

void MultiWorkerMirroredStrategy::start_all_reduce(std::span<const ReplicaSum> bucket, int number) {
  timed([&](Collective& sums) { sums.start(bucket, number); });
}

void MultiWorkerMirroredStrategy::await_all_reduce(int number, std::size_t replica) {
  timed([&](Collective& sums) { sums.await(number, replica); });
}

}  // namespace etude
