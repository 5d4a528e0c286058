#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <thread>

#include "etude/distribute/mpi_workers.hpp"

// Afterwards MPI cannot be finalized, and mpirun ends all processes: ./dev test mpi runs this test alone.
TEST_CASE("mpi: a process that is late is an error in the others after the deadline", "[.late]") {
  const auto workers = etude::connect_mpi_workers({.timeout = std::chrono::milliseconds(300)});
  if (workers->rank() == 1) {
    std::this_thread::sleep_for(std::chrono::seconds(20));
    return;
  }
  for (int i = 0; i < 2; ++i) {  // also of later operations
    try {
      workers->all_gather(std::int64_t{0});
      FAIL("no error");
    } catch (const etude::CollectiveError& error) {
      CHECK(error.peer() == -1);
      CHECK(error.operation() == "all_gather");
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("did not take part before the deadline"));
    }
  }
}
