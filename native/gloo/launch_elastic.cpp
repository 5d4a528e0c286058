#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "etude/base/error.hpp"
#include "etude/distribute/cluster.hpp"
#include "gloo/launch.hpp"
#include "gloo/membership_server.hpp"
#include "gloo/sockets.hpp"

namespace etude::launch {
namespace {

using std::chrono::steady_clock;

constexpr int preempted = exit_after_signal + SIGTERM;  // the status of a process that saved its work after SIGTERM
constexpr int exit_without_membership = 1;

std::string secret() {
  return cluster_from_environment([](const std::string& name) -> std::optional<std::string> {
           const char* const value = name.starts_with("ETUDE_SECRET") ? std::getenv(name.c_str()) : nullptr;
           return value ? std::optional<std::string>(value) : std::nullopt;
         })
      .secret;
}

/// The process that serves the membership. It writes the ids of processes that it removes, and 0 when training has
/// ended.
class MembershipProcess {
 public:
  explicit MembershipProcess(int size) {
    std::string reason;
    sockets::Socket listening = sockets::listen_at({"127.0.0.1", "0"}, reason);
    std::array<int, 2> ends{};
    if (!listening) {
      std::fprintf(stderr, "etude-launch: no free port at 127.0.0.1: %s\n", reason.c_str());
      return;
    }
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      std::fprintf(stderr, "etude-launch: no pipe: %s\n", std::strerror(errno));
      return;
    }
    from_ = sockets::Socket(ends[0]);
    const sockets::Socket to(ends[1]);
    ::setenv("ETUDE_MEMBERSHIP", ("127.0.0.1:" + std::to_string(sockets::port_of(listening))).c_str(), 1);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0)
      std::fprintf(stderr, "etude-launch: the membership server cannot be started: %s\n", std::strerror(errno));
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(exit_not_started);
    const auto say = [&](pid_t number) {
      if (::write(to.get(), &number, sizeof number) != sizeof number) ::_exit(exit_not_started);
    };
    try {
      MembershipServer(std::move(listening), {size, secret(), "127.0.0.1", say, [&] { say(0); }}).serve();
    } catch (const Error& error) {
      std::fprintf(stderr, "etude-launch: %s\n", error.what());
    }
    ::_exit(exit_not_started);
  }
  ~MembershipProcess() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  MembershipProcess(const MembershipProcess&) = delete;
  MembershipProcess& operator=(const MembershipProcess&) = delete;

  bool started() const { return process_ > 0; }
  /// Whether it still runs, as far as next() has found.
  bool running() const { return running_; }
  /// Becomes readable when there is a number, or it has ended; -1 after its end.
  int events() const { return running_ ? from_.get() : -1; }
  /// The next number; none if there is none yet.
  std::optional<pid_t> next() {
    pid_t number = 0;
    const ssize_t size = running_ ? ::read(from_.get(), &number, sizeof number) : -1;
    if (size == 0) running_ = false;
    return size == sizeof number ? std::optional(number) : std::nullopt;
  }

 private:
  sockets::Socket from_;
  pid_t process_ = -1;
  bool running_ = true;
};

/// 0 if there is no such process.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // "12 (name) S 7 …"
  pid_t parent = 0;
  if (name_end != std::string::npos && name_end + 4 < text.size())
    std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
  return parent;
}

class ElasticGroup {
 public:
  explicit ElasticGroup(Run& run) : run_(run), membership_(run.options.processes) {}

  int run() {
    cluster_ = addresses(run_.options.processes);
    if (!membership_.started() || cluster_.empty()) return exit_not_started;
    failures_.resize(static_cast<std::size_t>(run_.options.processes));
    children_.resize(failures_.size());
    for (int rank = 0; rank < run_.options.processes && end_status_ == 0; ++rank) begin(rank);
    while (running()) {
      if (const int number = next_signal(run_, timeout(), membership_.events())) signal(number);
      while (const std::optional<pid_t> number = membership_.next()) note(*number);
      if (!membership_.running() && !over_ && end_status_ == 0) {
        std::fprintf(stderr, "etude-launch: the membership server ended: all processes end, too\n");
        end(exit_without_membership);
      }
      collect();
    }
    if (over_ || end_status_ != 0) return end_status_;
    if (std::ranges::find(failures_, preempted) != failures_.end()) return preempted;
    const auto first = std::ranges::find_if(failures_, [](int code) { return code != 0; });
    return first == failures_.end() ? 0 : *first;
  }

 private:
  bool running() const {
    return std::ranges::any_of(children_, [](pid_t child) { return child > 0; });
  }
  void signal(int number) const {
    for (const pid_t child : children_)
      if (child > 0) ::kill(child, number);
  }
  int timeout() const {
    if (!kill_at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - steady_clock::now()).count();
    if (left <= 0) signal(SIGKILL);
    return static_cast<int>(std::clamp<std::int64_t>(left, 10, 60'000));
  }

  void note(pid_t number) {
    if (number == 0)
      over_ = true;
    else if (started(number))
      ::kill(number, SIGKILL);
  }
  /// Whether a process is one of the children, or below one, such as a shell that did not replace itself.
  bool started(pid_t process) const {
    while (process > 1 && std::ranges::find(children_, process) == children_.end()) process = parent_of(process);
    return process > 1;
  }

  void collect() {
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      int status = 0;
      if (children_[rank] <= 0 || ::waitpid(children_[rank], &status, WNOHANG) != children_[rank]) continue;
      children_[rank] = 0;
      if (code_of(status) != 0) fail(static_cast<int>(rank), status);
    }
  }

  /// During the training, the others continue. After it, they end, as without --elastic.
  void fail(int rank, int status) {
    const int code = code_of(status);
    const bool was_preempted = WIFEXITED(status) && code == preempted;  // as all others will be
    failures_[static_cast<std::size_t>(rank)] = code;
    if (over_ || end_status_ != 0 || code == exit_not_started) return end(code);
    if (was_preempted || run_.stopped != 0 || run_.restarts >= run_.options.max_restarts) return;
    ++run_.restarts;
    failures_[static_cast<std::size_t>(rank)] = 0;
    std::fprintf(stderr, "etude-launch: process %d ended with status %d: restart %d of %d\n", rank, code, run_.restarts,
                 run_.options.max_restarts);
    begin(rank);
  }

  void begin(int rank) {
    pid_t& child = children_[static_cast<std::size_t>(rank)];
    child = start(run_, rank, cluster_);
    if (child < 0) end(exit_not_started);
  }

  /// Ends all processes. The first status is that of the group.
  void end(int status) {
    if (end_status_ == 0) end_status_ = status;
    if (kill_at_) return;
    if (run_.stopped != SIGTERM) signal(SIGTERM);  // else they have it; another might end them at once
    kill_at_ = grace_end(run_);
  }

  Run& run_;
  MembershipProcess membership_;
  std::string cluster_;
  std::vector<pid_t> children_;  ///< by rank; 0 after its end
  std::optional<steady_clock::time_point> kill_at_;
  std::vector<int> failures_;  ///< by rank; 0 if there was none, or if it was started again
  int end_status_ = 0;         ///< of the first failure that ends all processes
  bool over_ = false;
};

}  // namespace

int run_elastic(Run& run) { return ElasticGroup(run).run(); }

}  // namespace etude::launch
