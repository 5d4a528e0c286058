#pragma once

#include <memory>

#include "etude/distribute/cluster.hpp"
#include "gloo/gloo_mesh.hpp"

namespace etude {

/// Connects this process with those of its cluster. Its operations fail when the alarm rings. `serves`: whether rank 0
/// serves the rendezvous at the chief's address; otherwise another process does.
std::shared_ptr<Workers> connect_gloo(const Cluster& cluster, const WorkerOptions& options,
                                      std::shared_ptr<Alarm> alarm, bool serves);

/// The same for processes that may leave and join, as a membership server decides.
std::shared_ptr<Workers> connect_elastic(const Cluster& cluster, const WorkerOptions& options);

}  // namespace etude
