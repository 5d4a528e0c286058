#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <cstdlib>
#include <etude/etude.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "processes.hpp"
#include "scratch_folder.hpp"
#include "shared_memory.hpp"

// The program etude-launch: how it starts processes, passes signals on, and ends processes.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The exit status of a command; 124 if it takes longer than two minutes.
int status_of(const std::string& command) {
  const int status = std::system(("timeout 120 " + command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int launch(const std::string& words) { return status_of(std::string(ETUDE_LAUNCH) + ' ' + words + " 2> /dev/null"); }

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A command of sh that does this only in the process of this rank.
std::string in_rank(int rank, const std::string& command) {
  return "if [ $LOCAL_RANK = " + std::to_string(rank) + " ]; then " + command + "; fi; ";
}

/// etude-launch as the first process of its group.
class Launcher {
 public:
  /// `prepare` is called in its process.
  Launcher(
      std::vector<std::string> words, const std::string& errors, const std::function<void()>& prepare = [] {})
      : process_(::fork()) {
    if (process_ != 0) return;
    ::setpgid(0, 0);
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), STDERR_FILENO);
    prepare();
    words.insert(words.begin(), ETUDE_LAUNCH);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(pointers.front(), pointers.data());
    ::_exit(126);
  }
  ~Launcher() {
    if (process_ > 0) status();
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void signal(int number) const { ::kill(process_, number); }
  void signal_group(int number) const { ::kill(-process_, number); }
  /// Its exit status; -1 after a signal. It and its group are killed after two minutes.
  int status() {
    const auto deadline = steady_clock::now() + std::chrono::minutes(2);
    int status = 0;
    while (::waitpid(process_, &status, WNOHANG) == 0) {
      if (steady_clock::now() > deadline) signal_group(SIGKILL);
      std::this_thread::sleep_for(milliseconds(5));
    }
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_;
};

}  // namespace

TEST_CASE("etude-launch: each process has its rank, and the first failure ends all of them and is returned", "[gloo]") {
  CHECK(launch("-n 3 true") == 0);
  CHECK(launch("-n 3 -- sh -c '" + in_rank(2, "exit 7") + "sleep 60'") == 7);
  CHECK(launch("-n 3 -- sh -c '" + in_rank(2, "kill -9 $$") + "sleep 60'") == 137);
  CHECK(launch("-n 3 --max-restarts 2 -- sh -c 'test $ETUDE_RESTARTS = 2'") == 0);
  CHECK(launch("-n 3 --max-restarts 1 -- sh -c 'test $ETUDE_RESTARTS = 2'") == 1);
  CHECK(launch("-n 2 ./no_such_program") == 127);
  CHECK(launch("-n 2 -- sh -c 'test ${#ETUDE_SECRET} = 64'") == 0);
  CHECK(launch("-n 2 -- sh -c 'case \"$TF_CONFIG\" in *\": $LOCAL_RANK}\"*) ;; *) exit 3;; esac'") == 0);
  // A signal that the launcher's parent ignores, as nohup does, does not end it: it starts the program again.
  const std::vector<std::string> words{
      "-n", "1", "--max-restarts", "1", "--", "sh", "-c", "kill -HUP $PPID; test $ETUDE_RESTARTS = 1"};
  CHECK(Launcher(words, "/dev/null", [] { std::signal(SIGHUP, SIG_IGN); }).status() == 0);
  const auto ignore_children = [] { std::signal(SIGCHLD, SIG_IGN); };
  CHECK(Launcher({"-n", "2", "--", "sh", "-c", "exit 7"}, "/dev/null", ignore_children).status() == 7);
  CHECK(launch("-n 1 test -n text") == 0);  // words behind the program are those of the program
}

TEST_CASE("etude-launch: processes that ignore SIGTERM after a failure of another one are killed", "[gloo]") {
  const std::string ignores = in_rank(1, "sleep 0.2; exit 7") + "trap \"\" TERM; exec sleep 110";
  CHECK(launch("-n 3 --grace 0.1 -- sh -c '" + ignores + '\'') == 7);
}

// The program of the next test: 120 steps, each of which rank 0 notes in a file.
TEST_CASE("etude-launch: a program that saves its work after SIGTERM", "[.][program]") {
  const char* const given = std::getenv("ETUDE_TEST_FOLDER");
  if (!given) return;
  const std::string folder = given;
  const Cluster cluster = cluster_from_environment();
  const auto workers = connect_workers(cluster);
  const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(
      workers, MultiWorkerOptions{.elastic = !cluster.membership.empty()});
  const auto scope = strategy->scope();
  Sequential model({layers::dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto note = std::make_shared<AfterSteps>([&](int) {
    std::this_thread::sleep_for(milliseconds(10));
    if (strategy->rank() == 0) std::ofstream(folder + "/steps", std::ios::app) << '.';
  });
  const auto backup = callbacks::backup_and_restore({.backup_dir = folder + "/c", .save_before_preemption = true});
  model.fit(Tensor({12, 2}), Tensor({12, 1}),
            {.batch_size = 4, .epochs = 40, .verbose = 0, .callbacks = {note, backup}});
}

TEST_CASE(
    "etude-launch: SIGTERM to it, or to it and all processes, ends them with status 143 after a checkpoint, from which "
    "the same command continues",
    "[gloo]") {
  const bool elastic = GENERATE(false, true), to_group = GENERATE(false, true);
  CAPTURE(elastic, to_group);
  const ScratchFolder scratch("etude-launch-", ScratchFolder::memory);
  ::setenv("ETUDE_TEST_FOLDER", scratch.path().c_str(), 1);
  const std::string steps = scratch.path() + "/steps", errors = scratch.path() + "/errors";
  std::vector<std::string> words{"-n", "3", "--", std::filesystem::read_symlink("/proc/self/exe").string(),
                                 "etude-launch: a program that saves its work after SIGTERM"};
  if (elastic) words.insert(words.begin(), "--elastic");
  {
    Launcher launcher(words, errors);
    for (int i = 0; i < 10'000 && text_of(steps).size() < 5; ++i) std::this_thread::sleep_for(milliseconds(5));
    to_group ? launcher.signal_group(SIGTERM) : launcher.signal(SIGTERM);
    CHECK(launcher.status() == 143);
    CAPTURE(text_of(errors));
    CHECK(text_of(steps).size() < 120);
  }
  CHECK(Launcher(words, errors).status() == 0);
  CAPTURE(text_of(errors));
  CHECK(text_of(steps).size() == 120);  // each step once
  ::unsetenv("ETUDE_TEST_FOLDER");
}

TEST_CASE("etude-launch: if a process cannot be started, it says so, and returns 127", "[gloo]") {
  const bool elastic = GENERATE(false, true);
  const rlim_t most = GENERATE(1, 2, 3);  // processes of this user, with the launcher
  CAPTURE(elastic, most);
  const ScratchFolder scratch("etude-launch-", ScratchFolder::memory);
  const std::string errors = scratch.path() + "/errors";
  std::vector<std::string> words{"-n", "3", "sleep", "110"};
  if (elastic) words.insert(words.begin(), "--elastic");
  Launcher launcher(words, errors, [&] {
    constexpr uid_t user = 65534;  // the limit below does not apply to root
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setuid(user) != 0)) ::_exit(125);
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_NPROC, &limit);
  });
  CHECK(launcher.status() == 127);
  CHECK_THAT(text_of(errors), ContainsSubstring("cannot be started"));
}

TEST_CASE("etude-launch --elastic: without its membership server all processes end, and are started again", "[gloo]") {
  const ScratchFolder scratch("etude-launch-", ScratchFolder::memory);
  const std::string errors = scratch.path() + "/errors";
  // The server is the first child of the launcher.
  const std::string kill_server = in_rank(0, "set -- $(cat /proc/$PPID/task/$PPID/children); kill -9 $1");
  const auto run = [&](const std::string& words, const std::string& program) {
    return status_of(std::string(ETUDE_LAUNCH) + " --elastic -n 2 " + words + " -- sh -c '" + program + "' 2> " +
                     errors);
  };
  CHECK(run("", kill_server + "exec sleep 110") == 1);
  CHECK_THAT(text_of(errors), ContainsSubstring("the membership server ended"));
  CHECK(run("--max-restarts 1", "[ $ETUDE_RESTARTS = 1 ] && exit 0; " + kill_server + "exec sleep 110") == 0);
}

}  // namespace etude
