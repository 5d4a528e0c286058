#include "etude/base/detail/system_vfs.hpp"

#if defined(ETUDE_FILES) && __has_include(<sys/file.h>)

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

/// Repeats system calls that signals interrupt. A failed call returns -1 and sets errno.
class SystemCalls {
 public:
  explicit SystemCalls(SystemFault fault) : fault_(std::move(fault)) {}

  /// `work` gets the number of bytes to move at most.
  template <class Work> auto move(std::string_view name, std::size_t bytes, Work work) const {
    for (;;) {
      errno = fault_ ? fault_(name, bytes) : 0;
      const auto result = errno ? -1 : work(bytes);
      if (result != -1 || errno != EINTR) return result;
    }
  }
  template <class Work> int call(std::string_view name, Work work) const {
    return move(name, 0, [&](std::size_t) { return work(); });
  }

 private:
  SystemFault fault_;
};

/// An open file, closed by the destructor.
class Descriptor {
 public:
  Descriptor(const SystemCalls& system, const std::string& path, int flags, std::string_view what) {
    const char* name = system_path(path, what);
    number_ = system.call("open", [&] { return ::open(name, flags | O_CLOEXEC, 0666); });
    if (number_ < 0) fail_at_path(path, what, std::strerror(errno));
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }

 private:
  int number_ = -1;
};

/// Buffers small pieces until there are many, or until they are read.
class SystemFile : public FileSink {
 public:
  SystemFile(const SystemCalls& system, const std::string& path, bool append)
      : system_(system),
        path_(path),
        file_(system_, path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), "opened") {
    struct stat status{};
    if (system_.call("fstat", [&] { return ::fstat(file_, &status); }) < 0) fail_at_path(path_, "opened", reason());
    empty_ = status.st_size == 0;
  }
  ~SystemFile() override {
    try {
      flush();
    } catch (...) {
      // Callers that need the errors call flush().
    }
  }

  bool empty() const override { return empty_; }
  void append(std::string_view bytes) override {
    if (waiting_.size() + bytes.size() >= most_waiting) flush();
    if (bytes.size() >= most_waiting) return write(bytes);
    waiting_ += bytes;
  }
  void overwrite(std::uint64_t at, std::string_view bytes) override {
    flush();
    auto place = static_cast<off_t>(at);
    write("pwrite", bytes, [&](const char* from, std::size_t most) {
      const auto count = ::pwrite(file_, from, most, place);
      place += std::max<off_t>(count, 0);
      return count;
    });
  }
  void flush() override {
    const std::string bytes = std::exchange(waiting_, {});  // closing does not repeat a failed write
    write(bytes);
  }
  void sync() override {
    flush();
    if (system_.call("fsync", [&] { return ::fsync(file_); }) < 0) fail_at_path(path_, "written", reason());
  }

 private:
  static constexpr std::size_t most_waiting = std::size_t{1} << 16;

  void write(std::string_view bytes) {
    write("write", bytes, [&](const char* from, std::size_t most) { return ::write(file_, from, most); });
  }
  template <class Work> void write(std::string_view call, std::string_view bytes, Work work) {
    while (!bytes.empty()) {
      const auto count = system_.move(call, std::min(bytes.size(), std::size_t{1} << 30),
                                      [&](std::size_t most) { return work(bytes.data(), most); });
      if (count < 0) fail_at_path(path_, "written", reason());
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  static const char* reason() { return std::strerror(errno); }

  const SystemCalls system_;  // a copy: a file may outlive its Vfs
  const std::string path_;
  Descriptor file_;
  std::string waiting_;
  bool empty_ = true;
};

/// Holds the system's lock of a file. Node.js has no such locks: there the file, with the number of a living process,
/// is the lock. So the file of a native process has its number too, followed by a word, because the system's lock, and
/// not the file, tells another native process whether that one lives. Source of the counterpart:
/// web/src/system_files.ts.
class SystemLock : public FileLock {
 public:
  SystemLock(const SystemCalls& system, const std::string& path) {
    for (int attempt = 0; attempt < 8; ++attempt) {  // some file systems give a file another number at each call
      file_.emplace(system, path, O_RDWR | O_CREAT, "locked");
      if (system.call("flock", [&] { return ::flock(*file_, LOCK_EX | LOCK_NB); }) < 0) {
        if (errno != EWOULDBLOCK) fail_at_path(path, "locked", std::strerror(errno));
        refuse(path);
      }
      if (is_held_in_node()) refuse(path);
      const std::string text = std::to_string(::getpid()) + " native";
      // Without it, Node.js does not see the lock.
      is_written_ = ::ftruncate(*file_, 0) == 0 &&
                    ::pwrite(*file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
      struct stat opened{}, present{};
      if (::fstat(*file_, &opened) == 0 && ::stat(path.c_str(), &present) == 0 && opened.st_dev == present.st_dev &&
          opened.st_ino == present.st_ino)
        return;  // else another process removed the file meanwhile
    }
  }
  ~SystemLock() override {
    if (is_written_ && ::ftruncate(*file_, 0) < 0) errno = 0;  // then the number is that of a process that has ended
  }
  SystemLock(const SystemLock&) = delete;
  SystemLock& operator=(const SystemLock&) = delete;

 private:
  [[noreturn]] static void refuse(const std::string& path) {
    fail(ErrorKind::state, "file", '"', path,
         "\" is locked by another process, or another part of this one - expected a free folder - wait "
         "until that ends, or choose another folder.");
  }

  /// Whether the file has nothing but the number of another living process.
  bool is_held_in_node() const {
    std::array<char, 16> text{};
    const ssize_t size = ::pread(*file_, text.data(), text.size(), 0);
    pid_t holder = 0;
    if (size <= 0) return false;
    const auto [end, error] = std::from_chars(text.data(), text.data() + size, holder);
    if (error != std::errc() || end != text.data() + size || holder <= 0 || holder == ::getpid()) return false;
    return ::kill(holder, 0) == 0 || errno == EPERM;
  }

  std::optional<Descriptor> file_;
  bool is_written_ = false;
};

class SystemSource : public FileSource {
 public:
  SystemSource(const SystemCalls& system, const std::string& path)
      : system_(system), path_(path), file_(system_, path, O_RDONLY, "read") {
    struct stat status{};
    if (system_.call("fstat", [&] { return ::fstat(file_, &status); }) < 0)
      fail_at_path(path_, "read", std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail_at_path(path_, "read", std::strerror(EISDIR));
    if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  }

  /// Whether it has bytes at any place. Pipes have not, and some file systems of WebAssembly report no size.
  bool has_places() const { return size_ > 0; }
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t at, std::span<std::byte> out) override {
    while (!out.empty()) {
      const auto count = system_.move("pread", std::min(out.size(), std::size_t{1} << 30), [&](std::size_t most) {
        return ::pread(file_, out.data(), most, static_cast<off_t>(at));
      });
      if (count < 0) fail_at_path(path_, "read", std::strerror(errno));
      if (count == 0) fail_at_path(path_, "read", "it ended while it was read");
      at += static_cast<std::uint64_t>(count);
      out = out.subspan(static_cast<std::size_t>(count));
    }
  }

 private:
  const SystemCalls system_;
  const std::string path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

class SystemVfs : public Vfs {
 public:
  explicit SystemVfs(SystemFault fault) : system_(std::move(fault)) {}

  std::vector<std::byte> read(const std::string& path) override {
    const Descriptor file(system_, path, O_RDONLY, "read");
    struct stat status{};
    if (system_.call("fstat", [&] { return ::fstat(file, &status); }) < 0) refuse(path, "read");
    // One byte more than the reported size, to detect the end. Pipes, and some file systems of WebAssembly, report 0.
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::max<off_t>(status.st_size, 4095)) + 1);
    std::size_t filled = 0;
    for (;;) {
      if (filled == bytes.size()) bytes.resize(2 * bytes.size());
      const auto count = system_.move("read", std::min(bytes.size() - filled, std::size_t{1} << 30),
                                      [&](std::size_t most) { return ::read(file, bytes.data() + filled, most); });
      if (count < 0) refuse(path, "read");
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    bytes.resize(filled);
    return bytes;
  }

  std::uint64_t size(const std::string& path) override {
    struct stat status{};
    const char* name = system_path(path, "read");
    if (system_.call("stat", [&] { return ::stat(name, &status); }) < 0) refuse(path, "read");
    return static_cast<std::uint64_t>(status.st_size);
  }

  std::unique_ptr<FileSource> source(const std::string& path) override {
    auto file = std::make_unique<SystemSource>(system_, path);
    if (file->has_places()) return file;
    return std::make_unique<MemorySource>(read(path));
  }

  std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
    return std::make_unique<SystemFile>(system_, path, append);
  }

  void sync_folder(const std::string& path) override {
    const Descriptor folder(system_, path, O_RDONLY | O_DIRECTORY, "synced");
    // EINVAL: the file system does not support syncing folders.
    if (system_.call("fsync", [&] { return ::fsync(folder); }) < 0 && errno != EINVAL) refuse(path, "synced");
  }

  void rename(const std::string& from, const std::string& to) override {
    const char *before = system_path(from, "renamed"), *after = system_path(to, "renamed to");
    if (system_.call("rename", [&] { return ::rename(before, after); }) < 0) refuse(to, "renamed to");
  }

  void remove(const std::string& path) override {
    const bool folder = kind(path) == PathKind::folder;
    const auto call = [&] { return folder ? ::rmdir(path.c_str()) : ::unlink(path.c_str()); };
    if (system_.call(folder ? "rmdir" : "unlink", call) < 0) refuse(path, "removed");
  }

  std::vector<std::string> list(const std::string& folder) override {
    DIR* stream = nullptr;
    const char* name = system_path(folder, "read");
    if (system_.call("opendir", [&] { return (stream = ::opendir(name)) ? 0 : -1; }) < 0) refuse(folder, "read");
    const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, ::closedir);
    std::vector<std::string> names;
    for (const dirent* entry = nullptr;;) {
      entry = nullptr;
      // At the end there is no entry, and errno is 0.
      const auto next = [&] { return (entry = ::readdir(stream)) || errno == 0 ? 0 : -1; };
      if (system_.call("readdir", next) < 0) refuse(folder, "read");
      if (!entry) break;
      if (const std::string each = entry->d_name; each != "." && each != "..") names.push_back(each);
    }
    std::ranges::sort(names);
    return names;
  }

  void make_folder(const std::string& path) override {
    const char* name = system_path(path, "made");
    if (system_.call("mkdir", [&] { return ::mkdir(name, 0777); }) == 0) return;
    const int code = errno;
    struct stat status{};
    if (code == EEXIST && ::stat(name, &status) == 0 && S_ISDIR(status.st_mode)) return;
    fail_at_path(path, "made", std::strerror(code));
  }

  PathKind kind(const std::string& path) override {
    struct stat status{};
    const char* name = system_path(path, "read");
    if (system_.call("lstat", [&] { return ::lstat(name, &status); }) == 0)
      return S_ISDIR(status.st_mode) ? PathKind::folder : PathKind::file;
    if (errno == ENOENT || errno == ENOTDIR) return PathKind::none;
    refuse(path, "read");
  }

  std::unique_ptr<FileLock> lock(const std::string& path) override {
    return std::make_unique<SystemLock>(system_, path);
  }

 private:
  [[noreturn]] static void refuse(const std::string& path, std::string_view what) {
    fail_at_path(path, what, std::strerror(errno));
  }

  const SystemCalls system_;
};

}  // namespace

std::shared_ptr<Vfs> system_vfs(SystemFault fault) { return std::make_shared<SystemVfs>(std::move(fault)); }

}  // namespace etude

#else

namespace etude {

std::shared_ptr<Vfs> system_vfs(SystemFault) { return nullptr; }

}  // namespace etude

#endif
