
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <csignal>
#include <cstring>
#include <functional>

#include "processes.hpp"
#include "two_hosts.hpp"

// The operations of several processes: sums, broadcasts, gathers; and what happens if one of them fails.
namespace etude {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Numbers whose sums depend on the order.
float number(int rank, std::size_t i) { return std::sin(static_cast<float>(i) * 0.37f + static_cast<float>(rank)) / 3; }

std::vector<float> numbers(int rank, std::size_t count) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = number(rank, i);
  return result;
}

template <class T> ReplicaSum sum_of(DType dtype, const std::vector<T>& part, std::vector<T>& sum) {
  return {dtype,
          static_cast<std::int64_t>(part.size()),
          {reinterpret_cast<const std::byte*>(part.data())},
          {reinterpret_cast<std::byte*>(sum.data())}};
}

/// Sums until an operation fails, and calls `disturb` after a few sums. Returns "peer operation", and whether it took
/// less than `most`.
std::string report_of_failure(Workers& workers, const std::function<void()>& disturb, milliseconds most,
                              bool starts = false) {
  std::vector<float> part = numbers(workers.rank(), 1000), sum(part.size());
  const ReplicaSum value = sum_of(DType::float32, part, sum);
  const auto all_reduce = [&] {
    if (!starts) return workers.all_reduce({&value, 1});
    workers.start({&value, 1}, 0);
    workers.await(0, 0);
  };
  auto last = steady_clock::now();
  for (int i = 0;; ++i) {
    if (i == 5) disturb();
    try {
      all_reduce();
      last = steady_clock::now();
    } catch (const CollectiveError& error) {
      const bool soon = steady_clock::now() - last < most;
      const std::string text = std::to_string(error.peer()) + ' ' + error.operation();
      try {
        workers.broadcast({});
        all_reduce();
      } catch (const CollectiveError& again) {
        return text + (again.peer() == error.peer() ? "" : " then another") + (soon ? " soon" : " late");
      }
      return text + " then none";
    }
  }
}

/// The same of several processes. That of rank `victim` sends itself a signal after a few sums.
Reports reports_of_failure(int count, int victim, int signal, milliseconds timeout, milliseconds most,
                           bool starts = false) {
  return run_workers(
      count,
      [=](const std::shared_ptr<Workers>& workers) {
        return report_of_failure(
            *workers,
            [&] {
              if (workers->rank() == victim) ::raise(signal);
            },
            most, starts);
      },
      timeout, 8);
}

}  // namespace

TEST_CASE("workers: sums have the same bits in all processes and in every run, for sizes of all kinds",
          "[gloo][any_engine]") {
  const int count = GENERATE(1, 2, 3, 4);
  CAPTURE(count);
  constexpr std::size_t large = 70001;
  const auto run = [&] {
    return run_workers(count, [&](const std::shared_ptr<Workers>& workers) {
      const int rank = workers->rank();
      std::vector<float> a = numbers(rank, large), b = numbers(rank + 9, 3), sum_a(large), none;
      std::vector<double> c{0.1 * rank, 1}, sum_c(2);
      std::vector<std::int32_t> d{rank, -7}, sum_d(2);
      const std::vector<ReplicaSum> bucket{sum_of(DType::float32, a, sum_a), sum_of(DType::float32, none, none),
                                           sum_of(DType::float32, b, b), sum_of(DType::float64, c, sum_c),
                                           sum_of(DType::int32, d, sum_d)};
      workers->all_reduce(bucket);
      return bytes_of(sum_a.data(), 4 * large) + bytes_of(b.data(), 12) + bytes_of(sum_c.data(), 16) +
             bytes_of(sum_d.data(), 8);
    });
  };
  const Reports first = run();
  REQUIRE(first[0].size() == 4 * large + 12 + 16 + 8);
  for (const std::string& report : first) CHECK((report == first[0]));
  CHECK((run() == first));

  std::vector<float> sums(large + 3);
  std::memcpy(sums.data(), first[0].data(), 4 * sums.size());
  double farthest = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double sum = 0;
    for (int rank = 0; rank < count; ++rank) sum += i < large ? number(rank, i) : number(rank + 9, i - large);
    farthest = std::max(farthest, std::abs(sum - static_cast<double>(sums[i])));
  }
  CHECK(farthest < 1e-6);
  std::int32_t integers[2];
  std::memcpy(integers, first[0].data() + 4 * large + 12 + 16, 8);
  CHECK(integers[0] == count * (count - 1) / 2);
  CHECK(integers[1] == -7 * count);
}

TEST_CASE("workers: sums that are started are complete when they are awaited, and later operations follow them",
          "[gloo]") {
  const int count = GENERATE(2, 3);
  CAPTURE(count);
  constexpr std::size_t large = 70001;
  const Reports reports = run_workers(count, [&](const std::shared_ptr<Workers>& workers) {
    const int rank = workers->rank();
    std::vector<float> a = numbers(rank, large), b = numbers(rank + 9, 100), sum_a(large), sum_b(100);
    std::vector<float> expected_a(large), expected_b(100);
    const ReplicaSum first = sum_of(DType::float32, a, sum_a), second = sum_of(DType::float32, b, sum_b);
    const ReplicaSum blocking_first = sum_of(DType::float32, a, expected_a);
    const ReplicaSum blocking_second = sum_of(DType::float32, b, expected_b);
    workers->all_reduce({&blocking_first, 1});
    workers->all_reduce({&blocking_second, 1});
    const auto equal = [&] { return sum_a == expected_a && sum_b == expected_b ? "equal " : "different "; };
    std::string report;
    for (int step = 0; step < 20; ++step) {
      sum_a.assign(large, 0);
      sum_b.assign(100, 0);
      workers->start({&first, 1}, 0);
      workers->start({&second, 1}, 1);
      workers->await(1, 0);
      workers->await(0, 0);
      report += equal();
    }
    sum_a.assign(large, 0);
    sum_b.assign(100, 0);
    workers->start({&first, 1}, 0);
    workers->start({&second, 1}, 1);
    std::string text = "from " + std::to_string(rank);
    workers->broadcast(std::as_writable_bytes(std::span(text)));
    report += equal();
    return report + text;
  });
  std::string expected;
  for (int i = 0; i < 21; ++i) expected += "equal ";
  for (const std::string& report : reports) CHECK(report == expected + "from 0");
}

TEST_CASE("workers: a broadcast gives all processes the memory of rank 0, a gather that of all of them",
          "[gloo][any_engine]") {
  const Reports reports = run_workers(3, [](const std::shared_ptr<Workers>& workers) {
    const int rank = workers->rank();
    std::string shared = "from " + std::to_string(rank);
    workers->broadcast(std::as_writable_bytes(std::span(shared)));
    const std::string own(static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
    const std::vector<std::size_t> sizes{0, 1, 2};
    std::string all(3, '-');
    workers->all_gather(std::as_bytes(std::span(own)), sizes, std::as_writable_bytes(std::span(all)).data());
    for (const std::int64_t each : workers->all_gather(10 * rank)) all += ' ' + std::to_string(each);
    return shared + ' ' + all;
  });
  for (const std::string& report : reports) CHECK(report == "from 0 bcc 0 10 20");
}

TEST_CASE("workers: sums, broadcasts and gathers of 28 MB give the right numbers", "[gloo][any_engine]") {
  constexpr std::size_t size = 7'000'001;  // more than an engine sends at once
  const Reports reports = run_workers(2, [](const std::shared_ptr<Workers>& workers) {
    const auto rank = static_cast<std::size_t>(workers->rank());
    const auto fill = [&](std::vector<float>& numbers) {
      for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<float>((i + rank) % 1000);
    };
    std::vector<float> one(size), other(size), sums(size), all(2 * size);
    fill(one);
    fill(other);
    const std::vector<ReplicaSum> bucket{sum_of(DType::float32, one, sums), sum_of(DType::float32, other, other)};
    workers->all_reduce(bucket);
    workers->broadcast(std::as_writable_bytes(std::span(one)));
    std::vector<float> own(size);
    fill(own);
    workers->all_gather(std::as_bytes(std::span(own)), std::vector<std::size_t>(2, 4 * size),
                        std::as_writable_bytes(std::span(all)).data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const auto first = static_cast<float>(i % 1000), second = static_cast<float>((i + 1) % 1000);
      wrong += sums[i] != first + second || other[i] != first + second || one[i] != first || all[i] != first ||
               all[size + i] != second;
    }
    return std::to_string(wrong) + " wrong";
  });
  for (const std::string& report : reports) CHECK(report == "0 wrong");
}

TEST_CASE("workers: a killed process gives an error in all others within a second, which names it", "[gloo]") {
  const auto [count, victim] = GENERATE(std::pair(2, 0), std::pair(2, 1), std::pair(4, 0), std::pair(4, 2));
  const bool starts = GENERATE(false, true);
  CAPTURE(count, victim, starts);
  const Reports reports =
      reports_of_failure(count, victim, SIGKILL, std::chrono::seconds(15), milliseconds(1000), starts);
  for (int rank = 0; rank < count; ++rank)
    CHECK(reports[static_cast<std::size_t>(rank)] ==
          (rank == victim ? "" : std::to_string(victim) + " all_reduce soon"));
}

TEST_CASE("workers: a process that fails by itself, while all others are connected, is the one that all name",
          "[gloo]") {
  const int wrong = GENERATE(0, 1, 2);
  CAPTURE(wrong);
  const Reports reports = run_workers(3, [&](const std::shared_ptr<Workers>& workers) -> std::string {
    // Gloo refuses the sizes of two processes. It throws std::bad_alloc in the same place.
    const std::vector<std::size_t> sizes(workers->rank() == wrong ? 2 : 3, 4);
    const std::array<std::byte, 4> own{};
    std::array<std::byte, 12> all{};
    try {
      workers->all_gather(own, sizes, all.data());
    } catch (const CollectiveError& error) {
      return std::to_string(error.peer());
    }
    return "no error";
  });
  CHECK(reports == Reports(3, std::to_string(wrong)));
}

TEST_CASE("workers: a stopped process gives an error in all others after the deadline, which names it", "[gloo]") {
  const auto [count, victim] = GENERATE(std::pair(2, 1), std::pair(3, 0));
  const bool starts = GENERATE(false, true);
  CAPTURE(count, victim, starts);
  const Reports reports = reports_of_failure(count, victim, SIGSTOP, milliseconds(500), milliseconds(5000), starts);
  for (int rank = 0; rank < count; ++rank)
    CHECK(reports[static_cast<std::size_t>(rank)] ==
          (rank == victim ? "" : std::to_string(victim) + " all_reduce soon"));
}

TEST_CASE("workers: a connection that loses all packets is an error in both processes after the deadline", "[gloo]") {
  const TwoHosts hosts;
  if (!hosts.connected()) SKIP("network namespaces cannot be made here: they need root, and iproute2");
  const Reports reports = run_processes(2, [&](int rank) {
    hosts.enter(rank);
    const auto workers = connect_workers({.rank = rank,
                                          .size = 2,
                                          .chief = TwoHosts::address(0) + ":2222",
                                          .host = TwoHosts::address(rank),
                                          .secret = "known to both hosts"},
                                         {.timeout = milliseconds(500), .connect_timeout = std::chrono::seconds(10)});
    return report_of_failure(
        *workers,
        [&] {
          if (rank == 1) hosts.cut();
        },
        milliseconds(5000));
  });
  CHECK(reports == Reports{"1 all_reduce soon", "0 all_reduce soon"});
}

}  // namespace etude
