#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <csignal>
#include <random>
#include <thread>

#include "multi_worker_scenarios.hpp"
#include "process_nccl.hpp"
#include "shared_memory.hpp"

// MultiWorkerMirroredStrategy on GPUs whose gradients NCCL sums. GPUs and NCCL are fakes, the processes are real.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;

/// Runs `work` in several processes with a fake GPU each, in the scope of a strategy. `communication` and `installed`
/// get the rank.
struct Gpus {
  int count;
  std::function<std::string(int)> communication = [](int) { return "nccl"; };
  std::function<bool(int)> installed = [](int) { return true; };
  milliseconds timeout = std::chrono::seconds(15);

  Reports run(const std::function<std::string(Workers&)>& work, std::vector<int>* statuses = nullptr) const {
    return run_workers(
        count,
        [&](const std::shared_ptr<Workers>& workers) {
          const int rank = workers->rank();
          set_default_device(*new FakeGpu(installed(rank)));  // exists until the process ends
          set_random_seed(3);
          const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(
              workers, MultiWorkerOptions{.communication = communication(rank)});
          const auto scope = strategy->scope();
          return work(*workers);
        },
        timeout, 60, statuses);
  }
};

std::string always(const char* name) { return name; }

/// Trains a small model, and returns the error that ends it. `after_step` gets the number of steps.
std::string failure_of_training(const std::function<void(int)>& after_step) {
  Sequential model(scenarios()[0].layers());
  model.compile({.optimizer = "sgd", .loss = "mse"});
  try {
    model.fit(
        waves({rows, 5}), waves({rows, 1}),
        {.batch_size = batch_size, .epochs = 4, .verbose = 0, .callbacks = {std::make_shared<AfterSteps>(after_step)}});
  } catch (const CollectiveError& error) {
    return std::to_string(error.peer()) + ' ' + error.what();
  }
  return "no error";
}

float farthest(const std::string& one, const std::string& other) {
  constexpr std::size_t steps = 3 * 4;  // the numbers of the bits
  const std::vector<float> a = numbers_in(one), b = numbers_in(other);
  REQUIRE(a.size() > rows + steps);
  REQUIRE(a.size() == b.size());
  float most = 0;
  for (std::size_t i = 0; i + steps < a.size(); ++i) {
    const float distance = std::abs(a[i] - b[i]);
    most = distance <= most ? most : distance;  // NaN propagates
  }
  return most;
}

}  // namespace

TEST_CASE("multi-worker: GPUs that NCCL sums give the numbers of sums through the host, with the same bits in all",
          "[gloo][nccl]") {
  const auto [count, index] = GENERATE(std::pair(2, 0), std::pair(3, 1), std::pair(2, 2));
  const Scenario& scenario = scenarios()[static_cast<std::size_t>(index)];
  CAPTURE(count, scenario.name);
  const auto numbers = [&](Workers&) { return report_of(numbers_of(scenario)); };
  ProcessNccl nccl;
  const Reports host = Gpus{.count = count, .communication = [](int) { return always("ring"); }}.run(numbers);
  CHECK(nccl.sums() == 0);
  const Reports gpus = Gpus{.count = count}.run(numbers);
  CHECK(nccl.sums() > 2 * 12);  // several packs in each of the steps
  CHECK(nccl.destroyed() == count);
  CHECK(nccl.aborted() == 0);
  for (const std::string& report : gpus) CHECK((report == gpus.front()));
  nccl.reset();
  CHECK((Gpus{.count = count, .communication = [](int) { return always("auto"); }}.run(numbers) == gpus));
  CHECK(nccl.sums() > 2 * 12);
  CHECK(farthest(host.front(), gpus.front()) < 1e-5f);
}

TEST_CASE("multi-worker: a process that is killed ends the sums of NCCL in the others, which name it",
          "[gloo][nccl][kills]") {
  constexpr int count = 3;
  std::mt19937 random(7);
  ProcessNccl nccl;
  SharedMoment at;
  SharedSeconds slowest;
  int killed = 0;
  for (int trial = 0; trial < rounds(6, 200); ++trial) {
    const int victim = static_cast<int>(random() % count), last = static_cast<int>(random() % 12);
    CAPTURE(trial, victim, last);
    nccl.reset();
    const Reports reports = Gpus{.count = count, .timeout = std::chrono::minutes(30)}.run([&](Workers& workers) {
      const std::string failure = failure_of_training([&](int steps) {
        if (workers.rank() != victim || steps <= last) return;
        at.set();
        ::kill(::getpid(), SIGKILL);
      });
      slowest.raise(at.seconds_since());
      return failure;
    });
    for (int rank = 0; rank < count; ++rank) {
      const std::string& report = reports[static_cast<std::size_t>(rank)];
      if (rank == victim) {
        CHECK(report.empty());
        killed += report.empty();
      } else {
        CHECK((report.starts_with(std::to_string(victim) + " [") || report.starts_with("-1 [")));
      }
    }
  }
  CHECK(killed > 0);
  CHECK(slowest.value() < 10);  // the promise is one second, on a machine that is not busy
  std::printf("the others named the process at the latest after %.3f s\n", slowest.value());
}

TEST_CASE("multi-worker: a process that takes no part in a sum of NCCL is an error after the deadline",
          "[gloo][nccl]") {
  ProcessNccl nccl;
  const Reports reports = Gpus{.count = 2, .timeout = milliseconds(1500)}.run([&](Workers& workers) {
    return failure_of_training([&](int) {
      if (workers.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(4));
    });
  });
  CHECK_THAT(reports[0], ContainsSubstring("did not take part before the deadline"));
  CHECK_THAT(reports[1], ContainsSubstring("failed"));
}

TEST_CASE("multi-worker: a process that leaves a training in order ends the sums of NCCL in the others",
          "[gloo][nccl]") {
  const int leaver = GENERATE(0, 1);
  CAPTURE(leaver);
  ProcessNccl nccl;
  SharedMoment at;
  SharedSeconds slowest;
  const Reports reports = Gpus{.count = 3, .timeout = std::chrono::minutes(30)}.run([&](Workers& workers) {
    struct Full : std::exception {};
    try {
      const std::string failure = failure_of_training([&](int steps) {
        if (workers.rank() != leaver || steps < 2) return;
        at.set();
        throw Full();  // as callbacks do on a full disk
      });
      slowest.raise(at.seconds_since());
      return failure;
    } catch (const Full&) {
    }
    return always("left");
  });
  for (int rank = 0; rank < 3; ++rank)
    CHECK_THAT(
        reports[static_cast<std::size_t>(rank)],
        rank == leaver ? ContainsSubstring("left") : ContainsSubstring(std::to_string(leaver) + " [all_reduce]"));
  CHECK(slowest.value() < 10);
}

TEST_CASE("multi-worker: a process whose NCCL fails names itself, and ends the sums of the others", "[gloo][nccl]") {
  const bool blocked = GENERATE(false, true);
  CAPTURE(blocked);
  ProcessNccl nccl;
  if (blocked) nccl.block_aborts();
  SharedMoment at;
  SharedSeconds slowest;
  const Reports reports = Gpus{.count = 3, .timeout = std::chrono::minutes(30)}.run([&](Workers& workers) {
    const std::string failure = failure_of_training([&](int steps) {
      if (workers.rank() != 1 || steps != 2) return;
      at.set();
      nccl.fail(1, false);
    });
    slowest.raise(at.seconds_since());
    const std::string again = failure_of_training([](int) {});  // later trainings fail, too
    return failure + (again == "no error" ? again : "");
  });
  for (const std::string& report : reports) {
    CHECK_THAT(report, ContainsSubstring("1 [all_reduce] "));
    CHECK(report.find("no error") == std::string::npos);
  }
  CHECK_THAT(reports[1], ContainsSubstring("NCCL: unhandled cuda error"));
  CHECK(slowest.value() < 10);
}

TEST_CASE("multi-worker: an error of NCCL because of another process is a CollectiveError", "[gloo][nccl]") {
  ProcessNccl nccl;
  const Reports reports = Gpus{.count = 2}.run([&](Workers& workers) {
    return failure_of_training([&](int steps) {
      if (steps == 2) nccl.fail(workers.rank(), true);
    });
  });
  for (const std::string& report : reports)
    CHECK_THAT(report, ContainsSubstring("NCCL: remote process exited") || ContainsSubstring("its connection ended"));
}

TEST_CASE("multi-worker: without NCCL, gradients are summed through the host; if it is required, that is an error",
          "[gloo][nccl]") {
  const Scenario& scenario = scenarios()[0];
  const auto numbers = [&](Workers&) { return report_of(numbers_of(scenario)); };
  const auto first_lacks = [](int rank) { return rank != 0; };
  const Gpus automatic{.count = 2, .communication = [](int) { return always("auto"); }};
  ProcessNccl nccl;
  const Reports host = Gpus{.count = 2, .communication = [](int) { return always("ring"); }}.run(numbers);
  CHECK((Gpus{.count = 2, .communication = automatic.communication, .installed = first_lacks}.run(numbers) == host));
  CHECK((Gpus{.count = 2, .communication = [](int rank) { return always(rank == 0 ? "ring" : "auto"); }}.run(numbers) ==
         host));
  CHECK(nccl.sums() == 0);

  const Reports required = Gpus{.count = 2, .installed = first_lacks}.run(numbers);
  CHECK(required[0] == "error: [Cuda] no NCCL");
  CHECK_THAT(required[1], ContainsSubstring("error: [NcclAllReduce] the process of rank 0 cannot use NCCL"));

  const Reports mixed =
      Gpus{.count = 2, .communication = [](int rank) { return always(rank == 0 ? "nccl" : "auto"); }}.run(numbers);
  for (const std::string& report : mixed)
    CHECK_THAT(report,
               ContainsSubstring("[MultiWorkerMirroredStrategy] communication = \"nccl\" in some processes only"));
  const Reports unknown = Gpus{.count = 1, .communication = [](int) { return always("mpi"); }}.run(numbers);
  CHECK_THAT(unknown[0], ContainsSubstring("communication = \"mpi\" - expected \"auto\", \"ring\" or \"nccl\""));

  for (const int refused : {-1, 1}) {  // all, or one, for which the other waits
    CAPTURE(refused);
    nccl.reset();
    nccl.refuse(refused);
    const Reports reports = Gpus{.count = 2}.run(numbers);
    CHECK_THAT(reports[1], ContainsSubstring("getting the GPUs of all processes together failed: invalid usage"));
    CHECK_THAT(reports[0], ContainsSubstring(refused == 1 ? "no connection after 3000 ms" : "invalid usage"));
    nccl.reset();
    nccl.refuse(refused);
    CHECK((automatic.run(numbers) == host));
  }
}

}  // namespace etude
