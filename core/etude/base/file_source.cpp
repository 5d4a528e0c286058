#include "etude/base/file_source.hpp"

#include <cstring>

#include "etude/base/error.hpp"

namespace etude {
namespace {

void check_place(std::uint64_t at, std::uint64_t wanted, std::uint64_t size) {
  check(at <= size && wanted <= size - at, ErrorKind::io, "file", wanted, " bytes from byte ", at, " on, of ", size,
        " - expected a place in the file - it is truncated; get it again.");
}

}  // namespace

MemorySource::MemorySource(std::vector<std::byte> bytes)
    : MemorySource(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}

MemorySource::MemorySource(std::shared_ptr<const std::vector<std::byte>> bytes) : owner_(bytes), bytes_(*bytes) {}

MemorySource::MemorySource(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), bytes_(bytes) {}

void MemorySource::read(std::uint64_t at, std::span<std::byte> out) {
  check_place(at, out.size(), bytes_.size());
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + at, out.size());
}

PartSource::PartSource(std::shared_ptr<FileSource> whole, std::uint64_t at, std::uint64_t size)
    : whole_(std::move(whole)), at_(at), size_(size) {
  check_place(at, size, whole_->size());
}

void PartSource::read(std::uint64_t at, std::span<std::byte> out) {
  check_place(at, out.size(), size_);
  whole_->read(at_ + at, out);
}

}  // namespace etude
