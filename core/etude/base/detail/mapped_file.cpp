#include "etude/base/detail/mapped_file.hpp"

#include <utility>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/vfs.hpp"

#ifdef __linux__
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace etude {
namespace {

#ifdef __linux__
/// The bytes of a mapping, which is unmapped by the destructor.
struct Mapping {
  void* memory;
  std::span<const std::byte> bytes;

  Mapping(void* start, std::size_t size) : memory(start), bytes(static_cast<const std::byte*>(start), size) {}
  ~Mapping() { munmap(memory, bytes.size()); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

/// Null for anything but a regular file with content.
std::shared_ptr<Mapping> mapping_of(const std::string& path) {
  const int file = open(system_path(path, "read"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status{};
  void* memory = MAP_FAILED;
  std::size_t size = 0;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size = static_cast<std::size_t>(status.st_size);
    memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  return memory == MAP_FAILED ? nullptr : std::make_shared<Mapping>(memory, size);
}
#endif

#ifdef __linux__
/// The jump target of this thread for reads of missing bytes; null while it reads no mapping.
thread_local sigjmp_buf* way_out = nullptr;
struct sigaction before{};

/// The handler of the signal for a read beyond the end of a mapped file. Other faults are handled as before.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  if (way_out) siglongjmp(*way_out, 1);
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  sigaction(SIGBUS, &before, nullptr);  // repeating the failed read ends the process
}

/// SA_NODEFER: a jump leaves the handler, and the signal must not stay blocked.
void handle_bus_errors() {
  static const bool handled = [] {
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGBUS, &action, &before) == 0;
  }();
  static_cast<void>(handled);
}

/// Restores the jump target of the enclosing read.
struct Reading {
  sigjmp_buf* outer = way_out;
  ~Reading() { way_out = outer; }
};
#endif

/// The content of a file that was read.
struct Read {
  std::vector<std::byte> all;
  std::span<const std::byte> bytes;
  explicit Read(std::vector<std::byte> read) : all(std::move(read)), bytes(all) {}
};

}  // namespace

std::shared_ptr<const std::span<const std::byte>> map_file(const std::string& path) {
#ifdef __linux__
  if (const auto mapping = mapping_of(path)) {
    handle_bus_errors();
    return {mapping, &mapping->bytes};
  }
#endif
  const auto read = std::make_shared<Read>(read_file(path));  // throws the error for a missing file
  return {read, &read->bytes};
}

namespace detail {

bool read_whole(void (*read)(void*), void* context) {
#ifdef __linux__
  const Reading reading;
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) return false;
  way_out = &here;
#endif
  read(context);
  return true;
}

void fail_at_shorter_file(std::string_view where) {
  fail(ErrorKind::io, where,
       "the file became shorter while it was in use - expected an unchanged file - get it again, and let no other "
       "process write to it.");
}

}  // namespace detail
}  // namespace etude
