#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

/// A child process that runs a trial.
namespace etude::experiment {

/// It is killed when this object is destroyed, and when this process ends in any way.
class TrialProcess {
 public:
  /// Starts a program, found along PATH, with a variable of the environment. Its output is appended to the file
  /// `log`, and it reads nothing. Throws Error(io) if it cannot be started.
  TrialProcess(const std::vector<std::string>& program, const char* variable, const std::string& value,
               const std::string& log);
  ~TrialProcess();
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  /// Its exit status once it has ended, 128 + n if signal n ended it. Does not wait. Processes that it started and left
  /// are killed then.
  std::optional<int> exit_status();
  /// Asks it to end: SIGTERM.
  void terminate() const;
  /// Ends it, and the processes that it started: SIGKILL.
  void kill() const;

 private:
  pid_t process_ = 0;
  std::optional<int> status_;
};

}  // namespace etude::experiment
