#pragma once

#include <memory>

#include "etude/distribute/cluster.hpp"

namespace etude {

/// Connects the processes that mpirun started, or another launcher of MPI, by MPI, and returns when all of them are
/// connected. Sums are those of MPI_Allreduce. Initializes MPI with MPI_THREAD_MULTIPLE, and finalizes it when the
/// program ends, unless the program initialized it itself. If MPI provides less, only one thread may use it at a time.
///
/// `options.timeout` is the longest that an operation waits. mpirun ends all processes if one of them is killed, before
/// the others notice it, so that CollectiveError only reports processes that are late, with peer() -1. Processes
/// cannot leave and join. Throws Error(state) if MPI cannot be initialized, or provides less than
/// MPI_THREAD_SERIALIZED. Programs that call it link etude::mpi, which builds with -DETUDE_MPI=ON have.
///
///     const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(connect_mpi_workers());
std::shared_ptr<Workers> connect_mpi_workers(WorkerOptions options = {});

}  // namespace etude
