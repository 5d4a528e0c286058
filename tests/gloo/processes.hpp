#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etude/distribute/cluster.hpp"
#include "gloo/sockets.hpp"

/// Processes on this machine that train together. This process starts no threads, so that its children may do anything.
namespace etude::testing {

/// What a process returned; or "error: " and its exception; empty if it was killed.
using Reports = std::vector<std::string>;

/// WorkerOptions::bytes_per_pack, so that small models have several sums in a step.
inline constexpr std::size_t packs_of_tests = 64;

inline std::string free_address() {
  std::string reason;
  const sockets::Socket socket = sockets::listen_at({"127.0.0.1", "0"}, reason);
  return "127.0.0.1:" + std::to_string(sockets::port_of(socket));
}

/// Runs `work` in `count` processes. At the end stopped processes are killed, and those that still run after `seconds`.
/// `statuses` become those with which they ended, after a signal 128 more than its number.
inline Reports run_processes(int count, const std::function<std::string(int rank)>& work, double seconds = 20,
                             std::vector<int>* statuses = nullptr) {
  struct Child {
    pid_t process;
    int from;
  };
  std::vector<Child> children;
  for (int rank = 0; rank < count; ++rank) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    const pid_t process = ::fork();
    if (process == 0) {
      ::close(ends[0]);
      for (const Child& other : children) ::close(other.from);
      std::string report;
      try {
        report = work(rank);
      } catch (const std::exception& error) {
        report = std::string("error: ") + error.what();
      }
      for (std::size_t at = 0; at < report.size();) {
        const ssize_t written = ::write(ends[1], report.data() + at, report.size() - at);
        if (written <= 0) break;
        at += static_cast<std::size_t>(written);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    children.push_back({process, ends[0]});
  }

  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(static_cast<int>(1e3 * seconds));
  Reports reports(children.size());
  std::vector<pollfd> open;
  for (const Child& child : children) open.push_back({child.from, POLLIN, 0});
  // Whether there is a process that has not ended, and is not stopped.
  const auto awaited = [&] {
    for (std::size_t i = 0; i < open.size(); ++i) {
      siginfo_t state{};
      const auto process = static_cast<id_t>(children[i].process);
      const bool stopped = ::waitid(P_PID, process, &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 && state.si_pid != 0;
      if (open[i].fd >= 0 && !stopped) return true;
    }
    return false;
  };
  while (awaited() && steady_clock::now() < deadline) {
    if (::poll(open.data(), open.size(), 20) <= 0) continue;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || !open[i].revents) continue;
      std::array<char, 4096> chunk{};
      const ssize_t size = ::read(open[i].fd, chunk.data(), chunk.size());
      if (size > 0)
        reports[i].append(chunk.data(), static_cast<std::size_t>(size));
      else
        open[i].fd = -1;
    }
  }
  for (const Child& child : children) {
    ::kill(child.process, SIGKILL);  // it has ended, or it is too late
    int status = 0;
    ::waitpid(child.process, &status, 0);
    if (statuses) statuses->push_back(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    ::close(child.from);
  }
  return reports;
}

/// Runs `work` in `count` processes that are connected: run_workers.cpp by Gloo, mpi/run_workers.cpp by MPI, which has
/// neither `seconds` nor `statuses`.
Reports run_workers(int count, const std::function<std::string(const std::shared_ptr<Workers>&)>& work,
                    std::chrono::milliseconds timeout = std::chrono::seconds(15), double seconds = 20,
                    std::vector<int>* statuses = nullptr);

/// The bytes of a memory as text.
inline std::string bytes_of(const void* data, std::size_t size) { return {static_cast<const char*>(data), size}; }

/// The greatest difference of the numbers of T in two such texts of the same size; NaN if there is one.
template <class T> T distance(const std::string& a, const std::string& b) {
  T farthest = 0;
  for (std::size_t i = 0; i + sizeof(T) <= a.size(); i += sizeof(T)) {
    T one = 0, other = 0;
    std::memcpy(&one, a.data() + i, sizeof one);
    std::memcpy(&other, b.data() + i, sizeof other);
    const T difference = std::abs(one - other);
    farthest = difference <= farthest ? farthest : difference;  // NaN propagates
  }
  return farthest;
}

}  // namespace etude::testing
