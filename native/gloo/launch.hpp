#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

/// The functions of etude-launch that all policies of failures share.
namespace etude::launch {

constexpr int exit_after_signal = 128;  // as shells do
constexpr int exit_not_started = 127;

struct Options {
  int processes = 1, max_restarts = 0;
  double grace = 10;  ///< seconds
  bool elastic = false;
  std::vector<std::string> program;
};

/// The state of the launcher.
struct Run {
  const Options& options;
  int signals;             ///< the file descriptor of its signals
  const sigset_t& before;  ///< the signals that were blocked when it was started
  int restarts = 0;        ///< so far
  int stopped = 0;         ///< the signal that it received, if any
};

/// The addresses of all processes, as a JSON list; empty, with a message, if there are no free ports.
std::string addresses(int processes);
/// Starts the program as a process; its id, or -1, with a message.
pid_t start(const Run& run, int rank, const std::string& cluster);
/// The exit status of a process; after a signal, 128 more than its number.
int code_of(int status);
/// Notes a signal that the launcher received, until the timeout in milliseconds or an event of `other`. 0 if there is
/// none for the processes.
int next_signal(Run& run, int timeout, int other = -1);
/// The end of the time between SIGTERM and SIGKILL that begins now.
std::chrono::steady_clock::time_point grace_end(const Run& run);

/// Runs the program once in all processes, and ends them when one fails.
int run_once(Run& run);
/// Runs the program in processes that may leave and join, and starts those again that fail.
int run_elastic(Run& run);

}  // namespace etude::launch
