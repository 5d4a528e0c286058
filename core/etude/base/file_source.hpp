#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace etude {

/// Bytes that are read at any place: a file, a part of one, or memory.
class FileSource {
 public:
  virtual ~FileSource() = default;
  /// The number of bytes.
  virtual std::uint64_t size() const = 0;
  /// Fills `out` with the bytes from `at` on. Throws Error(io) if the source ends before, or cannot be read.
  virtual void read(std::uint64_t at, std::span<std::byte> out) = 0;
};

/// Bytes in memory.
class MemorySource : public FileSource {
 public:
  /// Keeps the bytes.
  explicit MemorySource(std::vector<std::byte> bytes);
  /// Bytes of others, which `owner` keeps alive.
  MemorySource(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t at, std::span<std::byte> out) override;

 private:
  explicit MemorySource(std::shared_ptr<const std::vector<std::byte>> bytes);

  const std::shared_ptr<const void> owner_;
  const std::span<const std::byte> bytes_;
};

/// A part of another source, such as a file that an archive stores without compression.
class PartSource : public FileSource {
 public:
  /// `size` bytes of `whole` from `at` on. Throws Error(io) if `whole` ends before.
  PartSource(std::shared_ptr<FileSource> whole, std::uint64_t at, std::uint64_t size);
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t at, std::span<std::byte> out) override;

 private:
  const std::shared_ptr<FileSource> whole_;
  const std::uint64_t at_, size_;
};

}  // namespace etude
