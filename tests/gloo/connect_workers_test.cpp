#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <thread>

#include "gloo/rendezvous.hpp"
#include "gloo/secret.hpp"
#include "processes.hpp"

// How processes find each other, and prove that they know the secret.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

}  // namespace

TEST_CASE("connect_workers: a missing process, or one of another generation or size, is an error", "[gloo]") {
  const std::string chief = free_address();
  const auto connected = [&](const Cluster& cluster) -> std::string {
    try {
      connect_workers(cluster, {.connect_timeout = milliseconds(400)});
    } catch (const CollectiveError& error) {
      return std::to_string(error.peer()) + ' ' + error.operation() + ' ' + error.what();
    }
    return "connected";
  };
  const Reports reports = run_processes(4, [&](int rank) {
    const std::array<Cluster, 4> clusters{
        Cluster{.rank = 0, .size = 2, .chief = chief}, Cluster{.rank = 1, .size = 2, .chief = chief, .generation = 1},
        Cluster{.rank = 2, .size = 3, .chief = chief}, Cluster{.rank = 1, .size = 2, .chief = free_address()}};
    return connected(clusters[static_cast<std::size_t>(rank)]);
  });
  CHECK_THAT(reports[0], ContainsSubstring("1 connect") && ContainsSubstring("the process of rank 1 failed"));
  CHECK_THAT(reports[1], ContainsSubstring("0 connect") && ContainsSubstring("generation 1, the chief's is 0"));
  CHECK_THAT(reports[2], ContainsSubstring("0 connect") && ContainsSubstring("the chief expects 2 processes"));
  CHECK_THAT(reports[3], ContainsSubstring("0 connect") && ContainsSubstring("no connection to 127.0.0.1"));
}

TEST_CASE("connect_workers: a rank beyond the cluster, an address without a port, and a port in use are refused",
          "[gloo]") {
  const auto refused = [](const Cluster& cluster) {
    try {
      connect_workers(cluster);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refused({.rank = 2, .size = 2}), ContainsSubstring("rank 2 of 2"));
  CHECK_THAT(refused({.size = 2, .chief = "somewhere"}), ContainsSubstring("\"somewhere\" as address"));
  std::string reason;
  const sockets::Socket taken = sockets::listen_at({"127.0.0.1", "0"}, reason);
  CHECK_THAT(refused({.size = 2, .chief = "127.0.0.1:" + std::to_string(sockets::port_of(taken))}),
             ContainsSubstring("expected a free port"));
}

TEST_CASE("connect_workers: only a process with the secret of the chief is accepted, and it accepts only such a chief",
          "[gloo]") {
  const std::string chief = free_address(), secret(16, 'a'), other(16, 'b');
  const auto connected = [&](int rank, const std::string& own) -> std::string {
    try {
      const auto workers = connect_workers({.rank = rank, .size = 2, .chief = chief, .secret = own},
                                           {.connect_timeout = milliseconds(15'000)});
      workers->all_gather(rank);  // none ends while the other still connects
    } catch (const CollectiveError& error) {
      return error.what();
    }
    return "connected";
  };
  const Reports reports = run_processes(5, [&](int process) {
    if (process == 0) return connected(0, secret);
    const auto began = steady_clock::now();
    if (process == 1) {  // the others come first
      std::this_thread::sleep_for(milliseconds(500));
      return connected(1, secret);
    }
    const std::string text = connected(1, process == 2 ? other : process == 3 ? "" : secret + "a");
    return text + (steady_clock::now() - began < milliseconds(10'000) ? " at once" : " late");
  });
  CHECK(reports[0] == "connected");
  CHECK(reports[1] == "connected");
  for (std::size_t process = 2; process < 5; ++process)
    CHECK_THAT(reports[process], ContainsSubstring("its secret is another one") && ContainsSubstring(" at once"));

  // A chief that accepts everything: the answer to a greeting does not prove that it knows the secret.
  const Reports deceived = run_processes(1, [&](int) -> std::string {
    std::string reason;
    const sockets::Socket listening = sockets::listen_at({"127.0.0.1", "0"}, reason);
    std::thread chief_without([&] {
      sockets::Socket socket;
      while (!(socket = sockets::Socket(::accept(listening.get(), nullptr, nullptr)))) std::this_thread::yield();
      const auto soon = steady_clock::now() + milliseconds(15'000);
      sockets::send(socket, {10, {"nonce"}}, soon);
      if (sockets::receive(socket, soon)) sockets::send(socket, {2, {std::string(32, 'x')}}, soon);
    });
    std::string text = "connected";
    try {
      RendezvousClient({"127.0.0.1", std::to_string(sockets::port_of(listening))}, 1, 2, 0, secret,
                       steady_clock::now() + milliseconds(15'000));
    } catch (const CollectiveError& error) {
      text = error.what();
    }
    chief_without.join();
    return text;
  });
  CHECK_THAT(deceived[0], ContainsSubstring("its secret is another one"));
}

TEST_CASE("connect_workers: addresses beyond loopback need a secret of 16 characters", "[gloo]") {
  const auto refused = [](const Cluster& cluster) {
    try {
      connect_workers(cluster, {.connect_timeout = milliseconds(1)});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refused({.rank = 1, .size = 2, .chief = "10.0.0.1:2222"}), ContainsSubstring("set ETUDE_SECRET"));
  CHECK_THAT(refused({.rank = 1, .size = 2, .chief = "127.0.0.1:1", .host = "0.0.0.0", .secret = "short"}),
             ContainsSubstring("a secret of 5 characters"));
  CHECK_THAT(refused({.rank = 1, .size = 2, .chief = "127.0.0.1:1", .host = "0.0.0.0", .secret = std::string(16, 'a')}),
             ContainsSubstring("no connection to 127.0.0.1:1"));
  CHECK(sockets::is_loopback("127.1.2.3"));
  CHECK(sockets::is_loopback("::1"));
  for (const char* host : {"127.evil.org", "128.0.0.1", "::2", "0.0.0.0", "machine"})
    CHECK(!sockets::is_loopback(host));
}

TEST_CASE("the chief closes connections with messages that are too long, and silent ones do not keep others out",
          "[gloo]") {
  const Reports reports = run_processes(1, [](int) -> std::string {
    std::string reason;
    sockets::Socket listening = sockets::listen_at({"127.0.0.1", "0"}, reason);
    const sockets::Address address{"127.0.0.1", std::to_string(sockets::port_of(listening))};
    const RendezvousServer server(std::move(listening), 2, 0, "");
    const auto soon = [] { return steady_clock::now() + milliseconds(15'000); };
    // Whether the server closes a connection that sends this, earlier than a silent one.
    const auto closed = [&](const std::string& bytes) {
      const sockets::Socket socket = sockets::connect_to(address, soon(), reason);
      if (!sockets::receive(socket, soon())) return false;  // the challenge
      ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      const auto began = steady_clock::now();
      return !sockets::receive(socket, soon()) && steady_clock::now() - began < milliseconds(4000);
    };
    const std::string largest("\xff\xff\xff\x7f", 4), beyond_a_greeting("\x01\x02\0\0", 4), empty(4, '\0');
    for (const std::string& bytes : {largest, beyond_a_greeting, empty, std::string("GET / HTTP/1.1\r\n\r\n"),
                                     std::string("\x05\0\0\0\x01\xff\xff\xff\xff", 9)})
      if (!closed(bytes)) return "not closed";
    std::vector<sockets::Socket> silent;
    for (int i = 0; i < 60; ++i) silent.push_back(sockets::connect_to(address, soon(), reason));
    const auto began = steady_clock::now();
    RendezvousClient chief(address, 0, 2, 0, "", soon()), worker(address, 1, 2, 0, "", soon());
    chief.set("key", "value");
    const std::string value = worker.get("key", soon());
    return value + (steady_clock::now() - began < milliseconds(4000) ? " soon" : " late");
  });
  CHECK(reports == Reports{"value soon"});
}

TEST_CASE("sha256 and hmac_sha256: the vectors of FIPS 180-4 and RFC 4231, and all lengths around a block", "[gloo]") {
  const auto text = [](const secret::Digest& digest) { return bytes_of(digest.data(), digest.size()); };
  const auto digits = [&](const secret::Digest& digest) { return secret::hexadecimal(text(digest)); };
  CHECK(digits(secret::sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digits(secret::hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(
      digits(secret::hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  std::string all;
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 7 + size);
    all += text(secret::sha256(bytes));
  }
  // hashlib of Python 3.11, for the same texts.
  CHECK(digits(secret::sha256(all)) == "8c7c9ff69da76fc28823a1cb97268672663e628e1ea955868b16db46bab0545d");
  CHECK(secret::random_bytes() != secret::random_bytes());
  CHECK(secret::equal("ab", "ab"));
  CHECK(!secret::equal("ab", "ac"));
  CHECK(!secret::equal("ab", "abc"));
}

TEST_CASE("sockets: a connection that cannot be accepted is waited for with a pause, and accepted later", "[gloo]") {
  const Reports reports = run_processes(1, [](int) -> std::string {
    std::string reason;
    const sockets::Socket listening = sockets::listen_at({"127.0.0.1", "0"}, reason);
    const sockets::Address address{"127.0.0.1", std::to_string(sockets::port_of(listening))};
    const sockets::Socket other = sockets::connect_to(address, steady_clock::now() + milliseconds(10'000), reason);
    constexpr rlimit limit{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<sockets::Socket> all;
    while (sockets::Socket one = sockets::Socket(::dup(listening.get()))) all.push_back(std::move(one));
    const auto began = steady_clock::now();
    if (sockets::accept_from(listening)) return "accepted without a free descriptor";
    if (steady_clock::now() - began < milliseconds(90)) return "no pause";
    all.clear();
    if (!sockets::accept_from(listening)) return "not accepted";
    return sockets::accept_from(listening) ? "accepted twice" : "accepted";
  });
  CHECK(reports == Reports{"accepted"});
}

}  // namespace etude
