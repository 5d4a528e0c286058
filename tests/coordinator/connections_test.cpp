#include <sys/resource.h>
#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "coordinator/errors.hpp"
#include "coordinator/server_program.hpp"
#include "gloo/processes.hpp"
#include "gloo/secret.hpp"
#include "gloo/two_hosts.hpp"

// How a process accepts and refuses the connections of others.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using std::chrono::steady_clock;

}  // namespace

TEST_CASE("run_server: without a coordinator it throws UnavailableError", "[coordinator]") {
  const Reports reports = run_processes(1, [](int) -> std::string {
    ServerCluster cluster{.workers = {free_address()}, .servers = {}, .task = "worker"};
    try {
      run_server(cluster, program(), {.absence = milliseconds(100)});
    } catch (const UnavailableError& error) {
      return error.task();
    }
    return "ended";
  });
  CHECK(reports[0] == "chief");
}

TEST_CASE("ClusterCoordinator: a coordinator with another secret is refused", "[coordinator]") {
  ServerCluster cluster{.workers = {free_address()}, .servers = {free_address()}, .secret = std::string(16, 'a')};
  const Reports reports = run_processes(2, [&](int process) -> std::string {
    ServerCluster own = cluster;
    if (process == 0) {
      own.task = "ps";
      return error_of([&] { run_server(own, program(), {.absence = milliseconds(500)}); });
    }
    own.secret = std::string(16, 'b');
    return error_of([&] { ClusterCoordinator(own, program(), quick); });
  });
  CHECK_THAT(reports[0], ContainsSubstring("chief 0 unavailable"));
  CHECK_THAT(reports[1], ContainsSubstring("its secret is another one"));
  cluster.workers = {"10.0.0.1:2222"};
  cluster.secret = "short";
  CHECK_THAT(error_of([&] { ClusterCoordinator(cluster, program()); }), ContainsSubstring("a secret of 5 characters"));
}

TEST_CASE("run_server: a process with messages of another version is refused", "[coordinator]") {
  const ServerCluster cluster{.workers = {free_address()}, .servers = {}, .task = "worker"};
  const Reports reports = run_processes(2, [&](int process) -> std::string {
    if (process == 0) {
      run_server(cluster, program(), quick);
      return "ended";
    }
    constexpr std::uint8_t hello = 2;  // as in native/coordinator/connection.cpp
    const auto soon = [] { return steady_clock::now() + milliseconds(3000); };
    std::string reason;
    const sockets::Socket socket = sockets::connect_to(*sockets::parse_address(cluster.workers[0]), soon(), reason);
    const auto challenge = sockets::receive(socket, soon());
    if (!challenge) return "no challenge";
    const std::string to = "worker 0", own_nonce = "nonce", version = "1";
    const std::string proof =
        secret::proof(cluster.secret, "client", {challenge->fields[0], "chief", "0", to, own_nonce, version});
    sockets::send(socket, {hello, {"chief", "0", to, own_nonce, version, proof}}, soon());
    const auto answer = sockets::receive(socket, soon());
    ServerCluster own = cluster;
    own.task = "chief";
    ClusterCoordinator coordinator(own, program(), quick);
    return (answer ? answer->fields[0] : "no answer") +
           text_of(coordinator.fetch(coordinator.schedule("twice", {number(3)})));
  });
  CHECK(reports == Reports{"ended", "it has another version of Étude6"});
}

TEST_CASE("run_server: garbage ends a connection, and silent ones do not keep the coordinator out", "[coordinator]") {
  const ServerCluster cluster{.workers = {free_address()}, .servers = {}, .task = "worker"};
  const Reports reports = run_processes(2, [&](int process) -> std::string {
    if (process == 0) {
      run_server(cluster, program(), quick);
      return "ended";
    }
    const auto soon = [] { return steady_clock::now() + milliseconds(3000); };
    std::string reason;
    std::vector<sockets::Socket> silent;
    for (const std::string bytes : {"\xff\xff\xff\x7f", "GET / HTTP/1.1\r\n\r\n"}) {
      const sockets::Socket socket = sockets::connect_to(*sockets::parse_address(cluster.workers[0]), soon(), reason);
      if (!sockets::receive(socket, soon())) return "no challenge";
      ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      const auto began = steady_clock::now();
      if (sockets::receive(socket, soon()) || steady_clock::now() - began > milliseconds(2000)) return "not closed";
      for (int i = 0; i < 20; ++i)
        silent.push_back(sockets::connect_to(*sockets::parse_address(cluster.workers[0]), soon(), reason));
    }
    ServerCluster own = cluster;
    own.task = "chief";
    ClusterCoordinator coordinator(own, program(), quick);
    return text_of(coordinator.fetch(coordinator.schedule("twice", {number(3)})));
  });
  CHECK(reports == Reports{"ended", "6"});
}

TEST_CASE("run_server: after connections that it could not accept, it accepts others", "[coordinator]") {
  constexpr CoordinatorOptions patient{.timeout = milliseconds(3000), .absence = milliseconds(9000)};
  const ServerCluster cluster{.workers = {free_address()}, .servers = {}, .task = "worker"};
  const Reports reports = run_processes(2, [&](int process) -> std::string {
    if (process == 0) {
      // For a second, the process can open no more files.
      const std::jthread limits([] {
        std::this_thread::sleep_for(milliseconds(300));
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        const rlim_t before = limit.rlim_cur;
        const int next = ::dup(STDERR_FILENO);
        ::close(next);
        limit.rlim_cur = static_cast<rlim_t>(next);
        ::setrlimit(RLIMIT_NOFILE, &limit);
        std::this_thread::sleep_for(milliseconds(1000));
        limit.rlim_cur = before;
        ::setrlimit(RLIMIT_NOFILE, &limit);
      });
      run_server(cluster, program(), patient);
      return "ended";
    }
    std::this_thread::sleep_for(milliseconds(600));
    ServerCluster own = cluster;
    own.task = "chief";
    ClusterCoordinator coordinator(own, program(), patient);
    return text_of(coordinator.fetch(coordinator.schedule("twice", {number(3)})));
  });
  CHECK(reports == Reports{"ended", "6"});
}

}  // namespace etude
