#include "etude/base/vfs.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "etude/base/error.hpp"

namespace etude {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail_to_read(const std::string& path, int code) {
  fail(ErrorKind::io, "read_file", '"', path, "\" cannot be read: ", std::strerror(code),
       " - expected a file that exists and may be read - check the path.");
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  errno = 0;
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_to_read(path, errno);
  // Read until the end rather than ask for the size: pipes and some file systems of WebAssembly have none.
  std::vector<std::byte> bytes(std::size_t{1} << 16);
  std::size_t filled = 0;
  while (const std::size_t count = std::fread(bytes.data() + filled, 1, bytes.size() - filled, file.get())) {
    filled += count;
    if (filled == bytes.size()) bytes.resize(2 * bytes.size());
  }
  if (std::ferror(file.get())) fail_to_read(path, errno);
  bytes.resize(filled);
  return bytes;
}

}  // namespace etude
