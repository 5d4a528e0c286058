#include <catch2/catch_session.hpp>

#include "etude/distribute/mpi_workers.hpp"

// All processes run the same tests, in the same order.
int main(int count, char** words) {
  const auto workers = etude::connect_mpi_workers();  // initializes MPI
  return Catch::Session().run(count, words);
}
