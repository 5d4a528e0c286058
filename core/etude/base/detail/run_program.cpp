#include "etude/base/detail/run_program.hpp"

#ifdef ETUDE_PROGRAMS
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "etude/base/error.hpp"

extern char** environ;

namespace etude {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
/// A file without a name: unlike a pipe it holds everything, so that neither side waits for the other.
using TemporaryFile = std::unique_ptr<std::FILE, FileCloser>;

/// Throws unless a call succeeded; `code` is its errno.
void check_call(int code, const std::string& name) {
  check(code == 0, ErrorKind::io, "run", '"', name, "\" cannot be started: ", std::strerror(code),
        " - expected it to run - check the system.");
}

TemporaryFile temporary_file(const std::string& name) {
  TemporaryFile file(std::tmpfile());
  check_call(file ? 0 : errno, name);
  return file;
}

/// The files that a program inherits.
class Inherited {
 public:
  Inherited() { posix_spawn_file_actions_init(&actions_); }
  ~Inherited() { posix_spawn_file_actions_destroy(&actions_); }
  Inherited(const Inherited&) = delete;
  Inherited& operator=(const Inherited&) = delete;

  int add(const TemporaryFile& file, int as) {
    return posix_spawn_file_actions_adddup2(&actions_, fileno(file.get()), as);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string text_of(std::FILE* file) {
  std::rewind(file);
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file)) text.append(piece.data(), count);
  return text;
}

int status_of(pid_t process, const std::string& name) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) check_call(errno, name);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProgramEnd run_program(const std::string& name, const std::vector<std::string>& arguments, std::string_view input) {
  const TemporaryFile given = temporary_file(name), output = temporary_file(name);
  const bool written = std::fwrite(input.data(), 1, input.size(), given.get()) == input.size();
  check_call(written && std::fflush(given.get()) == 0 ? 0 : errno, name);
  std::rewind(given.get());
  Inherited files;
  check_call(files.add(given, STDIN_FILENO), name);
  check_call(files.add(output, STDOUT_FILENO), name);
  check_call(files.add(output, STDERR_FILENO), name);
  std::vector<char*> words{const_cast<char*>(name.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_t process = 0;
  const int code = ::posix_spawnp(&process, name.c_str(), files.get(), nullptr, words.data(), environ);
  if (code == ENOENT) return {};
  check_call(code, name);
  const int status = status_of(process, name);
  return {true, status, text_of(output.get())};
}

}  // namespace etude

#else

namespace etude {

ProgramEnd run_program(const std::string&, const std::vector<std::string>&, std::string_view) { return {}; }

}  // namespace etude

#endif
