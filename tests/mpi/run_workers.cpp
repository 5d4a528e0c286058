#include <catch2/catch_test_macros.hpp>

#include "gloo/processes.hpp"
#include "mpi/mpi_workers.hpp"

namespace etude::testing {
namespace {

/// The text of each process, in all of them.
Reports gather(const std::string& own, int count) {
  const int size = static_cast<int>(own.size());
  std::vector<int> sizes(static_cast<std::size_t>(count)), offsets;
  MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  int bytes = 0;
  for (const int each : sizes) {
    offsets.push_back(bytes);
    bytes += each;
  }
  std::string all(static_cast<std::size_t>(bytes), ' ');
  MPI_Allgatherv(own.data(), size, MPI_CHAR, all.data(), sizes.data(), offsets.data(), MPI_CHAR, MPI_COMM_WORLD);
  Reports reports;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    reports.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(sizes[i])));
  return reports;
}

}  // namespace

Reports run_workers(int count, const std::function<std::string(const std::shared_ptr<Workers>&)>& work,
                    std::chrono::milliseconds timeout, double, std::vector<int>*) {
  int rank = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  REQUIRE(all >= count);
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 0 : MPI_UNDEFINED, rank, &communicator);
  std::string report;
  if (rank < count) {
    try {
      report = work(connect_communicator(communicator, {.timeout = timeout}));
    } catch (const std::exception& error) {
      report = std::string("error: ") + error.what();
    }
  }
  Reports reports = gather(report, all);
  reports.resize(static_cast<std::size_t>(count));
  return reports;
}

}  // namespace etude::testing
