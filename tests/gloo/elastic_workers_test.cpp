#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <etude/etude.hpp>
#include <filesystem>
#include <random>
#include <thread>

#include "elastic_training.hpp"
#include "full_disk.hpp"
#include "gloo/membership_client.hpp"
#include "gloo/membership_messages.hpp"
#include "gloo/secret.hpp"

// Training with elastic = true: processes are killed, stopped, slow, or without disk space, and others go on.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;

constexpr int count = 3;
/// Longer than any of these trainings takes.
constexpr double most_seconds = 90;

bool contains(const std::vector<int>& sizes, int size) { return std::ranges::find(sizes, size) != sizes.end(); }

/// Pauses until a condition is true, at most for ten seconds.
template <class Condition> void await(const Condition& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(5));
}

/// Calls a function when fit begins.
class AtBegin : public Callback {
 public:
  explicit AtBegin(std::function<void()> call) : call_(std::move(call)) {}
  void on_train_begin(Logs&) override { call_(); }

 private:
  std::function<void()> call_;
};

}  // namespace

TEST_CASE(
    "elastic: when a process is killed, the others go on, and one that is started again joins, with the numbers of an "
    "undisturbed training with as many processes at each step",
    "[gloo][elastic]") {
  const int size = GENERATE(3, 2);  // of 2, one is left, whose steps have no all-reduce
  const int victim = GENERATE(0, 1, 2);
  const bool joins = GENERATE(false, true);
  if (victim >= size) return;
  CAPTURE(size, victim, joins);
  const ScratchFolder scratch("etude-elastic-", ScratchFolder::memory);
  const MembershipProcess membership(size);
  Shared<bool> joined;
  const Slowdown slowdown;
  SharedMoment at;
  SharedSeconds pause;
  SharedSizes sizes;
  std::vector<int> statuses;
  const auto work = [&](int index) {
    const bool is_new = index == size;
    if (is_new) await([&] { return sizes.after_step(9) == size - 1; });
    const auto workers = membership.connect(is_new ? victim : index, size);
    if (is_new && workers->is_chief()) return std::string("error: a chief before it joins");
    const auto after_step = [&](int steps) {
      if (index == victim && steps == 7) {
        at.set();
        ::raise(SIGKILL);
      }
      if (steps == 8 && workers->count() == size - 1) pause.raise(at.seconds_since());
      if (joins && !is_new && steps == 12) {
        await([&] { return joined.get(); });
        std::this_thread::sleep_for(milliseconds(200));
      }
    };
    std::vector<CallbackPtr> callbacks{
        sizes.recorder(workers, after_step),
        callbacks::backup_and_restore({.backup_dir = scratch.path() + "/c", .save_freq = 1})};
    if (is_new) callbacks.push_back(std::make_shared<AtBegin>([&] { joined.set(true); }));
    return train_model(workers, true, callbacks);
  };
  const Reports reports = run_processes(joins ? size + 1 : size, work, most_seconds, &statuses);
  CAPTURE(statuses, sizes.all());
  CHECK(contains(sizes.all(), size - 1));
  CHECK(sizes.all().front() == size);
  CHECK(sizes.all().back() == (joins ? size : size - 1));
  for (int index = 0; index < std::ssize(reports); ++index) {
    CAPTURE(index);
    const std::string& report = reports[static_cast<std::size_t>(index)];
    if (index == victim)
      CHECK(report.empty());
    else if (report.starts_with("error"))
      CHECK(report.empty());
    else
      CHECK((report == undisturbed(sizes.all())));
  }
  CAPTURE(slowdown.value());
  CHECK(pause.value() > 0);
  CHECK(pause.value() < 1.0 * slowdown.value());  // a second, on a machine that is not busy
  WARN("the first step of the others ended " << pause.value() << " s after the end of rank " << victim);
}

TEST_CASE("elastic: whichever process is killed, at any moment, training ends as an undisturbed one", "[gloo][kills]") {
  std::mt19937 random(7);
  const int kills = rounds(12, 200);
  int killed = 0, smaller = 0, rejoined = 0, aborted = 0;
  for (int trial = 0; trial < kills; ++trial) {
    const int victim = static_cast<int>(random() % count);
    const bool within_fit = random() % 3 > 0;
    const std::chrono::microseconds after(random() % (within_fit ? 300'000 : 100'000)), later(random() % 3 * 100'000);
    CAPTURE(trial, victim, within_fit, after.count(), later.count());
    const MembershipProcess membership(count);
    Shared<bool> fatal, over;
    SharedSizes sizes;
    std::vector<int> statuses;
    const auto work = [&](int index) -> std::string {
      const bool is_new = index == count;
      if (is_new)
        while (!fatal.get() && !over.get()) std::this_thread::sleep_for(milliseconds(1));
      if (is_new && !fatal.get()) return "unneeded";
      if (is_new) std::this_thread::sleep_for(later);
      const auto kill_later = [&] {
        if (index != victim) return;
        std::thread([&] {
          std::this_thread::sleep_for(after);
          fatal.set(true);
          ::kill(::getpid(), SIGKILL);
        }).detach();
      };
      if (!within_fit) kill_later();
      const auto at_begin = std::make_shared<AtBegin>([&] {
        if (within_fit) kill_later();
      });
      // If the group fails before fit, its processes end, and are started again.
      for (int attempt = 1;; ++attempt) {
        try {
          const auto workers = membership.connect(is_new ? victim : index, count);
          const auto slow_step = [](int) { std::this_thread::sleep_for(milliseconds(10)); };
          const std::string bits = train_model(workers, true, {sizes.recorder(workers, slow_step), at_begin});
          over.set(true);
          return bits;
        } catch (const CollectiveError&) {
          if (attempt == 20) throw;
        }
      }
    };
    const Reports reports = run_processes(count + 1, work, most_seconds, &statuses);
    CAPTURE(statuses, sizes.all());  // 134: aborted; 137: killed, for the victim, or after the deadline
    REQUIRE(over.get());
    for (int index = 0; index <= count; ++index) {
      CAPTURE(index);
      const std::string& report = reports[static_cast<std::size_t>(index)];
      const int status = statuses[static_cast<std::size_t>(index)];
      if (index == victim && report.empty()) {
        CHECK(status == 128 + SIGKILL);
        ++killed;
      } else if (index == count && (report.empty() || report == "unneeded")) {
        CHECK((status == 0 || status == 128 + SIGABRT));  // 0: too late
      } else if (status == 128 + SIGABRT) {               // Gloo does that, if it accepts a connection that has ended
        ++aborted;
      } else {
        CHECK((report == undisturbed(sizes.all())));
        rejoined += index == count;
      }
    }
    smaller += contains(sizes.all(), 2);
  }
  CHECK(killed > kills / 5);  // on a fast machine many have completed before
  WARN(killed << " of " << kills << " victims were killed before their end; " << smaller
              << " trainings went on with fewer processes, " << rejoined << " replacements ended with the others; "
              << aborted << " processes were aborted by Gloo");
}

TEST_CASE("elastic: a stopped process is removed, and the others continue", "[gloo][elastic]") {
  const int victim = GENERATE(0, 2);
  const MembershipProcess membership(count);
  SharedSizes sizes;
  std::vector<int> statuses;
  const Reports reports = run_processes(
      count,
      [&](int index) {
        const auto workers =
            membership.connect(index, count, {.timeout = std::chrono::minutes(30), .silence = milliseconds(1500)});
        return train_model(workers, true, {sizes.recorder(workers, [&](int steps) {
                             if (index == victim && steps == 7) ::raise(SIGSTOP);
                           })});
      },
      most_seconds, &statuses);
  CHECK(statuses[static_cast<std::size_t>(victim)] == 128 + SIGKILL);
  CHECK(sizes.all().back() == 2);
  CHECK((reports[1] == undisturbed(sizes.all())));
}

TEST_CASE("elastic: a process that joins with another random seed ends with the reason, and the others complete",
          "[gloo][elastic]") {
  const MembershipProcess membership(count);
  Shared<bool> begun;
  SharedSizes sizes;
  const auto work = [&](int index) {
    const bool is_new = index == count;
    if (is_new) await([&] { return sizes.after_step(9) == 2; });
    const auto workers = membership.connect(is_new ? 1 : index, count);
    std::vector<CallbackPtr> callbacks{sizes.recorder(workers, [&](int steps) {
      if (index == 1 && steps == 7) ::raise(SIGKILL);
      if (!is_new && steps == 12) await([&] { return begun.get(); });
    })};
    if (is_new) callbacks.push_back(std::make_shared<AtBegin>([&] { begun.set(true); }));
    return train_model(workers, true, callbacks, epochs, is_new ? 9 : 3);
  };
  const Reports reports = run_processes(count + 1, work, most_seconds);
  CHECK_THAT(reports[3],
             ContainsSubstring("the random seed 9 in a process that joins - expected 3, that of the others"));
  CHECK(sizes.all().back() == 2);
  for (const std::size_t index : {0U, 2U}) CHECK((reports[index] == undisturbed(sizes.all())));
}

TEST_CASE("elastic: a process that is slower than the deadline stays, and its step is repeated", "[gloo][elastic]") {
  const MembershipProcess membership(count);
  SharedSizes sizes;
  Shared<int> changes;
  const Reports reports = run_processes(
      count,
      [&](int index) {
        const auto workers = membership.connect(index, count, {.timeout = milliseconds(2000)});
        bool slow = index == 1;
        const std::string report = train_model(workers, true, {sizes.recorder(workers, [&](int steps) {
                                                 if (steps == 7 && std::exchange(slow, false))
                                                   std::this_thread::sleep_for(milliseconds(3000));
                                               })});
        if (index == 0) changes.set(workers->changes());
        return report;
      },
      most_seconds);
  CHECK(changes.get() >= 2);  // at the beginning, and before the step is repeated
  CHECK(std::ranges::all_of(sizes.all(), [](int size) { return size == count; }));
  for (const std::string& report : reports) CHECK((report == undisturbed(sizes.all())));
}

TEST_CASE("elastic: if the disk of the chief is full, it ends with the reason, and another process is the chief",
          "[gloo][elastic]") {
  const std::size_t space = GENERATE(0, 100);  // the second is full within a file
  CAPTURE(space);
  const MembershipProcess membership(count);
  SharedSizes sizes;
  const Reports reports = run_processes(
      count,
      [&](int index) {
        const auto workers = membership.connect(index, count);
        const auto disk = std::make_shared<FullDisk>();
        return train_model(workers, true,
                           {sizes.recorder(workers,
                                           [&](int steps) {
                                             if (index == 0 && steps == 7) disk->space = space;
                                           }),
                            callbacks::backup_and_restore({.backup_dir = "c", .save_freq = 1, .files = disk})});
      },
      most_seconds);
  CHECK_THAT(reports[0], ContainsSubstring("No space left on device"));
  CHECK(sizes.all().back() == 2);
  for (const std::size_t index : {1U, 2U}) CHECK((reports[index] == undisturbed(sizes.all())));
}

TEST_CASE("elastic: SIGTERM to one process ends all of them with status 143, after the same step", "[gloo][elastic]") {
  const ScratchFolder scratch("etude-elastic-sigterm-", ScratchFolder::memory);
  SharedSizes sizes;
  std::vector<int> statuses;
  const auto run = [&](bool asks) {
    const MembershipProcess membership(count);
    return run_processes(
        count,
        [&](int index) {
          const auto workers = membership.connect(index, count);
          int first = 0;
          const auto after_step = [&](int steps) {
            if (asks && steps == 7 && index == 2) ::raise(SIGTERM);
            if (first == 0) first = steps;
          };
          const std::string bits = train_model(
              workers, true,
              {sizes.recorder(workers, after_step),
               callbacks::backup_and_restore({.backup_dir = scratch.path() + "/c", .save_before_preemption = true})});
          return std::to_string(first) + ' ' + bits;
        },
        most_seconds, &statuses);
  };
  CHECK(run(true) == Reports{"", "", ""});
  CHECK(statuses == std::vector{143, 143, 143});
  for (const std::string& report : run(false)) CHECK((report == "8 " + undisturbed(sizes.all())));
}

TEST_CASE("elastic: a silent connection and a wrong secret disturb nothing, and other options are refused",
          "[gloo][elastic]") {
  const MembershipProcess membership(2);
  std::string reason;
  const std::optional<sockets::Address> address = sockets::parse_address(membership.address());
  const sockets::Socket silent =
      sockets::connect_to(*address, std::chrono::steady_clock::now() + std::chrono::seconds(10), reason);
  REQUIRE(static_cast<bool>(silent));
  SharedSizes sizes;
  const Reports reports = run_processes(
      3,
      [&](int index) -> std::string {
        if (index == 2) {
          connect_workers({.rank = 0, .size = 2, .secret = "another secret", .membership = membership.address()});
          return "accepted";
        }
        const auto workers = membership.connect(index, 2);
        std::string refused;
        try {
          MultiWorkerMirroredStrategy(workers, {.elastic = false});
        } catch (const Error& error) {
          refused = error.what();
        }
        try {
          connect_workers({.size = 2, .membership = membership.address()}, {.silence = milliseconds(0)});
          return "accepted";
        } catch (const Error& error) {
          if (std::string(error.what()).find("0 ms of silence") == std::string::npos) return error.what();
        }
        if (refused.find("elastic = false") == refused.npos) return "accepted";
        return train_model(workers, true, {sizes.recorder(workers, {})});
      },
      most_seconds);
  CHECK_THAT(reports[2], ContainsSubstring("secret"));
  for (const std::size_t index : {0U, 1U}) CHECK((reports[index] == undisturbed(sizes.all())));
}

TEST_CASE("elastic: a process that has ended its fit may ask for the next group, if the others do not answer",
          "[gloo][elastic]") {
  const MembershipProcess membership(2);
  const Reports reports = run_processes(1, [&](int) -> std::string {
    const auto address = *sockets::parse_address(membership.address());
    const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(15); };
    Shared<bool> interrupted;
    MembershipClient first(address, {.rank = 0, .size = 2}, {}, soon()),
        second(address, {.rank = 1, .size = 2}, {}, soon());
    const int generation = first.first(soon()).generation;
    if (second.first(soon()).generation != generation) return "two groups";
    second.on_interrupt(generation, [&] { interrupted.set(true); });
    first.done(generation);
    first.ready(generation);
    first.ready(generation);  // again, after its own timeout
    await([&] { return interrupted.get(); });
    if (!interrupted.get()) return "the other one goes on";
    second.ready(generation);
    const auto next = first.next(soon()), other = second.next(soon());
    if (!next || !other || next->generation != other->generation || next->generation == generation) return "no group";
    return std::to_string(next->size);
  });
  CHECK(reports == Reports{"2"});
}

TEST_CASE("elastic: a greeting whose deadlines were changed on the way, or are no times, is refused",
          "[gloo][elastic]") {
  const MembershipProcess membership(1);
  const Reports reports = run_processes(1, [&](int) {
    // The answer of the server to a greeting with these deadlines, and with the proof for another silence.
    const std::string process = std::to_string(::getpid());
    const auto answer = [&](const std::string& silence, const std::string& timeout, const std::string& proved) {
      const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(15);
      std::string reason;
      const sockets::Socket socket = sockets::connect_to(*sockets::parse_address(membership.address()), soon, reason);
      const auto first = sockets::receive(socket, soon);
      if (!first) return std::string("no challenge");
      sockets::Message hello{membership::hello, {"0", process, silence, timeout, "random"}};
      hello.fields.push_back(secret::proof("", "member", {first->fields[0], "0", process, proved, "1000", "random"}));
      sockets::send(socket, hello, soon);
      const auto reply = sockets::receive(socket, soon);
      return reply && reply->kind == membership::refusal ? reply->fields[0] : std::string("accepted");
    };
    return answer("2000", "1000", "1000") + '\n' + answer("1000", "2000", "1000") + '\n' + answer("0", "1000", "0") +
           '\n' + answer("1000", "1000", "1000");
  });
  const std::string other = std::string(membership::other_secret) + '\n';
  CHECK(reports ==
        Reports{other + other + "silence of 0 ms and timeout of 1000 ms, which must be 1 or more\naccepted"});
}

// The program of the last test.
TEST_CASE("elastic: a program of etude-launch", "[.][program]") {
  const auto workers = connect_workers(cluster_from_environment(), {.silence = milliseconds(1500)});
  const char *const fails = std::getenv("ETUDE_TEST_FAILS"), *const stops = std::getenv("ETUDE_TEST_STOPS");
  const bool is_first = cluster_from_environment().generation == 0;
  const int rank = workers->rank();
  train_model(workers, true, {std::make_shared<Steps>([&](int steps) {
                if (is_first && fails && rank == std::atoi(fails) && steps == 7) ::raise(SIGKILL);
                std::this_thread::sleep_for(milliseconds(20));
              })});
  if (stops && rank == 1) ::raise(SIGSTOP);
}

TEST_CASE("etude-launch --elastic: whichever process is killed, the program ends without failure", "[gloo][elastic]") {
  const auto launch = [](const std::string& words) {
    const int status = std::system(("timeout 120 " ETUDE_LAUNCH " --elastic " + words + " > /dev/null 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string program = "-- " + self + " 'elastic: a program of etude-launch'";
  for (const char* rank : {"0", "1", "2"}) {
    ::setenv("ETUDE_TEST_FAILS", rank, 1);
    CAPTURE(rank);
    CHECK(launch("-n 3 --max-restarts 3 " + program) == 0);
    CHECK(launch("-n 3 " + program) == 0);
  }
  ::unsetenv("ETUDE_TEST_FAILS");
  ::setenv("ETUDE_TEST_STOPS", "1", 1);  // after its fit
  CHECK(launch("-n 2 " + program) == 128 + SIGKILL);
  const std::string below_shell = R"(-- sh -c '"$0" "$1"; exit $?' )" + self + " 'elastic: a program of etude-launch'";
  CHECK(launch("-n 2 " + below_shell) == 128 + SIGKILL);
  ::unsetenv("ETUDE_TEST_STOPS");
  CHECK(launch("-n 2 ./no_such_program") == 127);
  CHECK(launch("-n 2 false") == 1);
  CHECK(launch("-n 2 --max-restarts 2 -- sh -c 'test $ETUDE_RESTARTS != 0'") == 0);
}

}  // namespace etude
