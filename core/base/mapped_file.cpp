#include "etude/base/mapped_file.hpp"

#include <utility>
#include <vector>

#include "etude/base/vfs.hpp"

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace etude {
namespace {

#ifdef __linux__
/// The bytes of a mapping, which is given back with them.
struct Mapping {
  void* memory;
  std::span<const std::byte> bytes;

  Mapping(void* start, std::size_t size) : memory(start), bytes(static_cast<const std::byte*>(start), size) {}
  ~Mapping() { munmap(memory, bytes.size()); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

/// None for what is no plain file, or has no bytes.
std::shared_ptr<Mapping> mapping_of(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
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

/// Bytes that were read.
struct Read {
  std::vector<std::byte> all;
  std::span<const std::byte> bytes;
  explicit Read(std::vector<std::byte> read) : all(std::move(read)), bytes(all) {}
};

}  // namespace

std::shared_ptr<const std::span<const std::byte>> map_file(const std::string& path) {
#ifdef __linux__
  if (const auto mapping = mapping_of(path)) return {mapping, &mapping->bytes};
#endif
  const auto read = std::make_shared<Read>(read_file(path));  // knows what to say of a file that is not there
  return {read, &read->bytes};
}

}  // namespace etude
