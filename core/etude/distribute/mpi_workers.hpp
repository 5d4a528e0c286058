#pragma once

#include <memory>

#include "etude/distribute/cluster.hpp"

namespace etude {

/// Connects, by MPI, the processes that mpirun or another launcher of MPI started. Returns when all of them are
/// connected. Initializes MPI with MPI_THREAD_MULTIPLE, and finalizes it when the program ends, unless the program has
/// initialized it. If MPI provides a lower level, only one thread may use it at a time. Sums are those of
/// MPI_Iallreduce.
///
/// `options.timeout` is the longest that an operation waits. If a process is killed, mpirun ends all of them. If one is
/// late, the others get a CollectiveError whose peer() is -1. Processes cannot leave and join. Throws Error(state) if
/// MPI cannot be initialized, or provides less than MPI_THREAD_SERIALIZED. Programs that call it link etude::mpi, which
/// is built with -DETUDE_MPI=ON.
///
///     const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(connect_mpi_workers());
std::shared_ptr<Workers> connect_mpi_workers(WorkerOptions options = {});

}  // namespace etude
