#pragma once

#include <mpi.h>

#include <memory>

#include "etude/distribute/mpi_workers.hpp"

namespace etude {

/// Connects the processes of a communicator, which becomes that of the workers. Collective over it.
std::shared_ptr<Workers> connect_communicator(MPI_Comm communicator, WorkerOptions options);

}  // namespace etude
