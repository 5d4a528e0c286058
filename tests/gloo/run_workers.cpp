#include "etude/distribute/cluster.hpp"
#include "processes.hpp"

namespace etude::testing {

Reports run_workers(int count, const std::function<std::string(const std::shared_ptr<Workers>&)>& work,
                    std::chrono::milliseconds timeout, double seconds, std::vector<int>* statuses) {
  const std::string chief = free_address();
  return run_processes(
      count,
      [&](int rank) {
        return work(connect_workers(
            {.rank = rank, .size = count, .chief = chief},
            {.timeout = timeout, .connect_timeout = std::chrono::seconds(15), .bytes_per_pack = packs_of_tests}));
      },
      seconds, statuses);
}

}  // namespace etude::testing
