#include "search/trial_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "etude/base/error.hpp"

extern char** environ;

namespace etude::experiment {
namespace {

constexpr int exit_after_signal = 128;  // as shells do

/// Pointers to texts, ended by a null, as exec takes them.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment(const char* variable, const std::string& value) {
  const std::string prefix = std::string(variable) + '=';
  std::vector<std::string> result{prefix + value};
  for (char** each = environ; *each; ++each)
    if (!std::string_view(*each).starts_with(prefix)) result.emplace_back(*each);
  return result;
}

/// In the child: calls only functions that are safe after a fork of a process with threads. Returns on failure.
void become(char** words, char** variables, const char* log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(exit_after_signal + SIGKILL);
  ::setpgid(0, 0);  // so that a Ctrl+C in a terminal reaches only the parent
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (input < 0 || output < 0 || ::dup2(input, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
      ::dup2(output, STDERR_FILENO) < 0)
    return;
  ::execvpe(words[0], words, variables);
}

}  // namespace

TrialProcess::TrialProcess(const std::vector<std::string>& program, const char* variable, const std::string& value,
                           const std::string& log) {
  const std::vector<std::string> variables = environment(variable, value);
  const std::vector<char*> word_pointers = pointers(program), variable_pointers = pointers(variables);
  std::array<int, 2> ends{};  // closed by the program's start; else it gets the errno
  int failure = ::pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno;
  if (failure == 0) {
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) {
      become(const_cast<char**>(word_pointers.data()), const_cast<char**>(variable_pointers.data()), log.c_str(),
             parent);
      failure = errno;
      ::_exit(::write(ends[1], &failure, sizeof failure) == sizeof failure ? 126 : 127);
    }
    if (process_ < 0) failure = errno;
    ::close(ends[1]);
    if (process_ > 0) {
      ssize_t size = 0;
      do size = ::read(ends[0], &failure, sizeof failure);
      while (size < 0 && errno == EINTR);
      if (size > 0) ::waitpid(process_, nullptr, 0);
    }
    ::close(ends[0]);
  }
  check(failure == 0, ErrorKind::io, "search", '"', program.at(0), "\" cannot be started: ", std::strerror(failure),
        " - expected a program - check its path, and the folder of its output \"", log, "\".");
}

TrialProcess::~TrialProcess() {
  if (status_) return;
  kill();
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
}

std::optional<int> TrialProcess::exit_status() {
  if (status_) return status_;
  siginfo_t info{};
  const bool known = ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (known && info.si_pid == process_) {
    // Before the number of the group is free for others: what a script has started and left would disturb the next run.
    ::kill(-process_, SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
    status_ = WIFSIGNALED(status) ? exit_after_signal + WTERMSIG(status) : WEXITSTATUS(status);
  } else if (!known && errno == ECHILD) {  // this process ignores SIGCHLD: the status is lost
    status_ = exit_after_signal + SIGKILL;
  }
  return status_;
}

void TrialProcess::terminate() const {
  if (!status_) ::kill(process_, SIGTERM);
}

void TrialProcess::kill() const {
  if (status_) return;
  ::kill(-process_, SIGKILL);
  ::kill(process_, SIGKILL);  // if it has changed its group
}

}  // namespace etude::experiment
