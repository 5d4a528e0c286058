#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/file_source.hpp"

namespace etude::hdf5 {

/// The address of nothing.
constexpr std::uint64_t nowhere = ~std::uint64_t{0};

/// The bytes of an HDF5 file, and which structure each byte belongs to. No byte belongs to two structures: so cycles
/// are errors, and all structures together have at most as many bytes as the file.
class File {
 public:
  /// `name` is the file's in errors.
  File(std::shared_ptr<FileSource> source, std::string name);

  /// Addresses beyond are errors: the file's size, or the end that its superblock declares.
  std::uint64_t end() const { return end_; }
  /// Throws Error(data) unless the file has that many bytes.
  void set_end(std::uint64_t end);
  const std::string& name() const { return name_; }

  /// Begins a walk: the structures of an object may be read again.
  void begin_walk() { ++walk_; }
  /// Up to `most` bytes from an address on, to learn the size of a structure.
  std::vector<std::byte> begin_of(std::uint64_t at, std::size_t most) const;
  /// The bytes of a structure that belongs to `owner`. Throws Error(data) if they are not in the file, belong to
  /// another structure, or were met in this walk.
  std::vector<std::byte> structure(std::uint64_t at, std::uint64_t size, std::uint64_t owner);
  /// Reserves the bytes in the same way, without reading them.
  void claim(std::uint64_t at, std::uint64_t size, std::uint64_t owner);
  /// Reads reserved bytes.
  void read(std::uint64_t at, std::span<std::byte> out) const { source_->read(at, out); }

  /// Throws Error(data): what is at a byte, and what was expected.
  [[noreturn]] void damaged(std::uint64_t at, std::string_view what, std::string_view expected) const;
  /// Throws Error(data): a feature of HDF5 that is not read.
  [[noreturn]] void refuse(std::uint64_t at, std::string_view what, std::string_view expected) const;
  void require(bool right, std::uint64_t at, std::string_view what, std::string_view expected) const {
    if (!right) [[unlikely]]
      damaged(at, what, expected);
  }

 private:
  struct Claim {
    std::uint64_t end, owner, walk;
  };

  const std::shared_ptr<FileSource> source_;
  const std::string name_;
  std::uint64_t end_, walk_ = 0;
  /// By first byte.
  std::map<std::uint64_t, Claim> claims_;
};

/// Numbers in a structure, read one after the other. Missing bytes are an Error(data).
class Bytes {
 public:
  Bytes(const File& file, std::uint64_t at, std::span<const std::byte> bytes) : file_(&file), at_(at), bytes_(bytes) {}

  /// An unsigned little-endian number of up to 8 bytes.
  std::uint64_t number(std::size_t size);
  std::uint64_t address() { return number(8); }
  std::span<const std::byte> take(std::uint64_t size);
  /// The next bytes as a Bytes.
  Bytes part(std::uint64_t size);
  void skip(std::uint64_t size) { take(size); }
  /// The next bytes, up to a NUL, which is consumed.
  std::string text();
  /// Throws Error(data) unless the next bytes are these.
  void expect(std::string_view mark);
  /// Whether the next bytes are these; then consumes them.
  bool begins(std::string_view mark);

  std::size_t left() const { return bytes_.size(); }
  /// The place in the file of the next byte.
  std::uint64_t at() const { return at_; }
  const File& file() const { return *file_; }
  /// Throws as File::damaged does, at the next byte, unless `right`.
  void require(bool right, std::string_view what, std::string_view expected) const {
    file_->require(right, at_, what, expected);
  }

 private:
  const File* file_;
  std::uint64_t at_;
  std::span<const std::byte> bytes_;
};

/// Jenkins's lookup3 of bytes, the checksum of HDF5's structures.
std::uint32_t lookup3(std::span<const std::byte> bytes);
/// Throws Error(data) unless the checksum that is stored at a byte is right.
void require_checksum(const File& file, std::uint64_t at, std::uint64_t stored, std::uint64_t right);
/// Throws Error(data) unless the last four bytes of a structure are the checksum of the others.
void verify_checksum(const File& file, std::uint64_t at, std::span<const std::byte> structure);

}  // namespace etude::hdf5
