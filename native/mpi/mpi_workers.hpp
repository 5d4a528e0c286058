#pragma once

#include <mpi.h>

#include <memory>

#include "etude/distribute/mpi_workers.hpp"

namespace etude {

/// Connects the processes of a communicator, which all of them call. The workers own the communicator.
std::shared_ptr<Workers> connect_communicator(MPI_Comm communicator, WorkerOptions options);

}  // namespace etude
