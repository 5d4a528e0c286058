#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "coordinator/errors.hpp"
#include "coordinator/server_program.hpp"
#include "gloo/processes.hpp"
#include "gloo/two_hosts.hpp"

// A coordinator, workers and parameter servers, each in a process of its own.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using std::chrono::steady_clock;

/// Whether a coordinator has no worker within a time that is enough for `quick`.
bool loses_workers(const ClusterCoordinator& coordinator) {
  const auto deadline = steady_clock::now() + milliseconds(5000);
  while (coordinator.available_workers() > 0 && steady_clock::now() < deadline)
    std::this_thread::sleep_for(milliseconds(5));
  return coordinator.available_workers() == 0;
}

/// What the chief returns; then what the workers and the parameter servers do: "ended", an error, or nothing if killed.
/// With `killed`, server 0 is killed after a second.
Reports run_cluster(int workers, int servers, const std::function<std::string(ClusterCoordinator&)>& chief,
                    bool killed = false) {
  ServerCluster cluster;
  for (int i = 0; i < workers; ++i) cluster.workers.push_back(free_address());
  for (int i = 0; i < servers; ++i) cluster.servers.push_back(free_address());
  return run_processes(1 + workers + servers, [&](int process) -> std::string {
    if (process == 0) {
      ClusterCoordinator coordinator(cluster, program(), quick);
      return chief(coordinator);
    }
    ServerCluster own = cluster;
    own.task = process <= workers ? "worker" : "ps";
    own.index = process <= workers ? process - 1 : process - 1 - workers;
    std::thread killer;
    if (killed && process == workers + 1)
      killer = std::thread([] {
        std::this_thread::sleep_for(milliseconds(1000));
        ::raise(SIGKILL);
      });
    run_server(own, program(), quick);
    if (killer.joinable()) killer.join();
    return "ended";
  });
}

}  // namespace

TEST_CASE("ClusterCoordinator: workers run scheduled functions, whose results are fetched; at the end they end",
          "[coordinator]") {
  const Reports reports = run_cluster(2, 0, [](ClusterCoordinator& coordinator) {
    std::vector<RemoteValue> values;
    for (int i = 0; i < 20; ++i) values.push_back(coordinator.schedule("twice", {number(static_cast<float>(i))}));
    coordinator.join();
    std::string text = coordinator.done() ? "done" : "not done";
    for (const RemoteValue& value : values) text += ' ' + text_of(coordinator.fetch(value));
    return text;
  });
  CHECK(reports[0] == "done 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38");
  CHECK(reports[1] == "ended");
  CHECK(reports[2] == "ended");
}

TEST_CASE("ClusterCoordinator: join throws the error of a function once, and drops the functions that did not begin",
          "[coordinator]") {
  const Reports reports = run_cluster(1, 0, [](ClusterCoordinator& coordinator) {
    const RemoteValue failed = coordinator.schedule("fail");
    const RemoteValue dropped = coordinator.schedule("twice", {number(1)});
    std::string text = error_of([&] { coordinator.join(); }) + '|';
    text += error_of([&] { coordinator.fetch(failed); }) + '|' + error_of([&] { coordinator.fetch(dropped); }) + '|';
    text += text_of(coordinator.fetch(coordinator.schedule("twice", {number(4)}))) + '|';
    coordinator.join();
    return text + error_of([&] { coordinator.schedule("unknown"); });
  });
  const std::string error = "[fail] no data - expected some - add some.|";
  CHECK_THAT(reports[0], ContainsSubstring(error + error + error + "8|") && ContainsSubstring("no function unknown"));
}

TEST_CASE("ClusterCoordinator: an exception of Cap'n Proto in a function is an Error with its text", "[coordinator]") {
  const Reports reports = run_cluster(1, 0, [](ClusterCoordinator& coordinator) {
    const RemoteValue failed = coordinator.schedule("fail in Cap'n Proto");
    return error_of([&] { coordinator.fetch(failed); });
  });
  CHECK_THAT(reports[0], ContainsSubstring("the message is too large"));
}

TEST_CASE("ClusterCoordinator: a worker that ends while it has no function is not available any more",
          "[coordinator]") {
  const Reports reports = run_cluster(1, 0, [](ClusterCoordinator& coordinator) -> std::string {
    coordinator.fetch(coordinator.schedule("end soon"));
    return loses_workers(coordinator) ? "noticed" : "not noticed";
  });
  CHECK(reports == Reports{"noticed", ""});
}

TEST_CASE("ClusterCoordinator: processes between which all packets are lost notice it within timeout and absence",
          "[coordinator]") {
  const TwoHosts hosts;
  if (!hosts.connected()) SKIP("network namespaces cannot be made here: they need root, and iproute2");
  const ServerCluster cluster{.workers = {TwoHosts::address(1) + ":2223"},
                              .servers = {TwoHosts::address(1) + ":2224"},
                              .secret = "known to both hosts"};
  const Reports reports = run_processes(3, [&](int process) -> std::string {
    ServerCluster own = cluster;
    hosts.enter(process == 0 ? 0 : 1);
    if (process > 0) {
      own.task = process == 1 ? "worker" : "ps";
      return error_of([&] { run_server(own, program(), quick); });
    }
    ClusterCoordinator coordinator(own, program(), quick);
    coordinator.fetch(coordinator.schedule("twice", {number(1)}));
    hosts.cut();
    return loses_workers(coordinator) ? "noticed" : "not noticed";
  });
  CHECK(reports[0] == "noticed");
  CHECK_THAT(reports[1], ContainsSubstring("chief 0 unavailable"));
  CHECK_THAT(reports[2], ContainsSubstring("chief 0 unavailable"));
}

TEST_CASE("ClusterCoordinator: the function of a killed worker, and of one that stops, runs on another worker",
          "[coordinator]") {
  for (const std::string function : {"killed", "stopped"}) {
    CAPTURE(function);
    const auto began = steady_clock::now();
    const Reports reports = run_cluster(2, 0, [&](ClusterCoordinator& coordinator) {
      while (coordinator.available_workers() < 2) std::this_thread::sleep_for(milliseconds(5));
      std::vector<RemoteValue> values;
      for (int i = 0; i < 6; ++i) values.push_back(coordinator.schedule(function));
      coordinator.join();
      std::string text;
      for (const RemoteValue& value : values) text += text_of(coordinator.fetch(value));
      return text;
    });
    CHECK(reports[0] == "111111");
    CHECK(reports[1].empty());
    CHECK(steady_clock::now() - began < std::chrono::seconds(15));
  }
}

TEST_CASE("ClusterCoordinator: a worker that is started again takes part again, until all functions have run",
          "[coordinator]") {
  // The worker kills itself in every 8th call, and is then started again.
  ServerProgram mortal = program();
  mortal.functions["mortal"] = [calls = 0](WorkerContext&, const std::vector<Tensor>& arguments) mutable {
    if (++calls == 8) ::raise(SIGKILL);
    return arguments;
  };
  const ServerCluster cluster{.workers = {free_address()}, .servers = {}, .task = "worker"};
  const Reports reports = run_processes(2, [&](int process) -> std::string {
    if (process == 0) {
      ServerCluster own = cluster;
      own.task = "chief";
      ClusterCoordinator coordinator(own, mortal, quick);
      std::vector<RemoteValue> values;
      for (int i = 0; i < 30; ++i) values.push_back(coordinator.schedule("mortal", {number(static_cast<float>(i))}));
      coordinator.join();
      double sum = 0;
      for (const RemoteValue& value : values) sum += coordinator.fetch(value)[0].item();
      return std::to_string(static_cast<int>(sum));
    }
    for (int starts = 1;; ++starts) {
      const pid_t worker = ::fork();
      if (worker == 0) {
        run_server(cluster, mortal, quick);
        ::_exit(0);
      }
      int status = 0;
      ::waitpid(worker, &status, 0);
      if (WIFEXITED(status)) return std::to_string(starts);
    }
  });
  CHECK(reports == Reports{"435", "5"});
}

TEST_CASE("ClusterCoordinator: join and done throw UnavailableError if all workers are absent for too long",
          "[coordinator]") {
  const bool joins = GENERATE(true, false);
  const Reports reports = run_cluster(1, 0, [&](ClusterCoordinator& coordinator) {
    coordinator.schedule("killed");
    try {
      if (joins) coordinator.join();
      while (!coordinator.done()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } catch (const UnavailableError& error) {
      return error.task() + ' ' + std::to_string(error.index());
    }
    return std::string("no error");
  });
  CHECK(reports[0] == "worker -1");
}

TEST_CASE("ClusterCoordinator: each worker has its own dataset, whose end is an error; a new creation begins again",
          "[coordinator]") {
  const Reports reports = run_cluster(1, 0, [](ClusterCoordinator& coordinator) {
    std::string text;
    for (int pass = 0; pass < 2; ++pass) {
      const PerWorkerDataset numbers = coordinator.create_per_worker_dataset("numbers");
      for (int i = 0; i < 2; ++i) text += text_of(coordinator.fetch(coordinator.schedule("next", {}, {numbers}))) + ' ';
      text += error_of([&] { coordinator.fetch(coordinator.schedule("next", {}, {numbers})); }) + '|';
      error_of([&] { coordinator.join(); });
    }
    return text + error_of([&] { coordinator.fetch(coordinator.schedule("next")); });
  });
  CHECK_THAT(reports[0], ContainsSubstring("0 1 [worker] the dataset numbers has ended") &&
                             ContainsSubstring("|0 1 [worker] the dataset numbers has ended") &&
                             ContainsSubstring("no dataset numbers"));
}

TEST_CASE("ServerVariables: servers apply their optimizer to pushed gradients, parts of variables included",
          "[coordinator]") {
  const Reports reports = run_cluster(2, 2, [](ClusterCoordinator& coordinator) {
    ServerVariables& variables = coordinator.variables();
    variables.create({{"b", number(1)}});
    variables.create({{"w", Tensor::from<float>({5}, {1, 2, 3, 4, 5})}}, fixed_shards_partitioner(3));
    const Tensor ones = Tensor::from<float>({5}, {1, 1, 1, 1, 2});
    coordinator.schedule("push", {ones});
    coordinator.join();
    const NamedTensors state = variables.state();
    const auto next = [&] {
      coordinator.schedule("push", {ones});
      coordinator.join();
      const NamedTensors values = variables.pull();
      return text_of({values.at("w"), values.at("b")}) + '|';
    };
    // SGD with momentum 0.5: the first step subtracts 0.5 g, the second 0.75 g.
    std::string text = next();
    variables.restore(state);
    text += next();
    text += text_of(coordinator.fetch(coordinator.schedule("pull"))) + '|';
    variables.assign({{"b", number(7)}});
    text += text_of({variables.pull({"b"}).at("b")}) + '|';
    text += error_of([&] { variables.create({{"b", number(1)}}); }) + error_of([&] { variables.pull({"c"}); });
    text += error_of([&] { variables.push({{"b", ones}}); });
    return text + error_of([&] { variables.push({{"w", number(1)}}); });
  });
  CHECK_THAT(reports[0], ContainsSubstring("-0.25 0.75 1.75 2.75 2.5 -0.25|-0.25 0.75 1.75 2.75 2.5 -0.25|-0.25 0.75 "
                                           "1.75 2.75 2.5|7|") &&
                             ContainsSubstring("another variable b") && ContainsSubstring("no variable c") &&
                             ContainsSubstring("a gradient of shape [5]") && ContainsSubstring("for w with 5 rows"));
  for (std::size_t process = 1; process < 5; ++process) CHECK(reports[process] == "ended");
}

TEST_CASE("ServerVariables: the state of variables whose names begin with \"optimizer/\" is restored",
          "[coordinator]") {
  const Reports reports = run_cluster(1, 1, [](ClusterCoordinator& coordinator) {
    ServerVariables& variables = coordinator.variables();
    variables.create({{"optimizer/kernel", number(1)}, {"optimizer/bias", number(2)}});
    const NamedTensors state = variables.state();
    variables.assign({{"optimizer/kernel", number(7)}, {"optimizer/bias", number(8)}});
    variables.restore(state);
    const NamedTensors values = variables.pull();
    return text_of({values.at("optimizer/kernel"), values.at("optimizer/bias")});
  });
  CHECK(reports[0] == "1 2");
}

TEST_CASE("ClusterCoordinator: a parameter server that ends is an UnavailableError at once, in every later call",
          "[coordinator]") {
  const Reports reports = run_cluster(
      1, 2,
      [](ClusterCoordinator& coordinator) {
        coordinator.variables().create({{"b", number(1)}, {"w", number(1)}});
        const auto began = steady_clock::now();
        std::string text;
        for (int i = 0; i < 2; ++i) {
          try {
            for (;;) {
              coordinator.schedule("pull");  // of server 1
              coordinator.join();
            }
          } catch (const UnavailableError& error) {
            text += error.task() + ' ' + std::to_string(error.index()) + ' ';
          }
        }
        return text + (steady_clock::now() - began < milliseconds(2500) ? "soon" : "late");
      },
      true);
  CHECK(reports[0] == "ps 0 ps 0 soon");
}

}  // namespace etude
