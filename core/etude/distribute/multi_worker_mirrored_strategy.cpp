#include "etude/distribute/multi_worker_mirrored_strategy.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/detail/clock.hpp"
#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"
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
  sums_ = connected_devices(options);
  if (!sums_ && device_.reads_host_memory()) sums_ = workers_;
  if (!sums_) sums_ = std::make_shared<StagedSums>(device_, *workers_);
  const std::vector<std::int64_t> seeds = workers_->all_gather(static_cast<std::int64_t>(random_seed()));
  if (std::ranges::any_of(seeds, [&](std::int64_t seed) { return seed != seeds.front(); }))
    set_random_seed(static_cast<std::uint64_t>(seeds.front()));
}

std::shared_ptr<Collective> MultiWorkerMirroredStrategy::connected_devices(const MultiWorkerOptions& options) {
  constexpr const char* where = "MultiWorkerMirroredStrategy";
  const std::string& name = options.communication;
  check(name == "auto" || name == "ring" || name == "nccl", ErrorKind::value, where, "communication = \"", name,
        "\" - expected \"auto\", \"ring\" or \"nccl\" - correct it.");
  const bool required = name == "nccl";
  check(!required || !workers_->elastic(), ErrorKind::value, where,
        "communication = \"nccl\" in processes that may leave and join - expected \"auto\" or \"ring\" - or start the "
        "program without --elastic.");
  enum Wish : std::int64_t { host, automatic, nccl };
  const Wish wish = required ? nccl : name == "ring" || device_.reads_host_memory() ? host : automatic;
  const std::vector<std::int64_t> wishes = workers_->all_gather(wish);
  const bool everywhere = std::ranges::count(wishes, nccl) == std::ssize(wishes);
  check(everywhere || std::ranges::count(wishes, nccl) == 0, ErrorKind::value, where,
        "communication = \"nccl\" in some processes only - expected the same in all - correct the others.");
  if (workers_->count() == 1 || workers_->elastic() || std::ranges::count(wishes, host) > 0) return nullptr;
  try {
    std::shared_ptr<Collective> connected = device_.collective_over(workers_);
    check(connected || !required, ErrorKind::state, where, "communication = \"nccl\" on ", device_.name(),
          " - expected a GPU - pass one to set_default_device, or use \"auto\".");
    return connected;
  } catch (const CollectiveError&) {
    throw;
  } catch (const Error& error) {
    if (required) throw;
    if (workers_->is_chief())
      print_warning({}, std::string("[MultiWorkerMirroredStrategy] gradients are summed through the host's memory: ") +
                            error.what());
    return nullptr;
  }
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
