#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/vfs.hpp"

namespace etude {

/// A file in a ZIP archive.
struct ArchiveEntry {
  /// Its path in the archive: relative, of names between slashes, without "." and "..".
  std::string name;
  /// Its size after expansion, in bytes.
  std::uint64_t size = 0;
  /// Whether it is compressed by DEFLATE. Otherwise it is stored as it is.
  bool compressed = false;
};

/// The limits of an archive.
struct ArchiveLimits {
  /// The most bytes of all compressed files after expansion. Default: 100 times the archive's size, or 1 MiB if that is
  /// more.
  std::optional<std::uint64_t> expanded = {};
  /// The most files.
  std::size_t entries = 1'000'000;
};

/// Reads a ZIP archive by minizip, which is part of zlib. It reads the central directory, and of the files only
/// the requested bytes, piece by piece. Errors are Error(io) if the archive cannot be read; all others are Error(data)
/// with the archive's name: for a damaged archive, for encrypted files and symbolic links, for other methods of
/// compression, for names that are not unique, not UTF-8, longer than 4096 bytes or not relative paths, for files that
/// overlap, and beyond the limits.
class ArchiveReader {
 public:
  virtual ~ArchiveReader() = default;
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  /// The files in the order of the directory, without folders.
  const std::vector<ArchiveEntry>& entries() const { return entries_; }
  /// The file of that name; null if there is none.
  const ArchiveEntry* find(std::string_view name) const;

  /// Begins to read a file, one of entries().
  virtual void open(const ArchiveEntry& entry) = 0;
  /// Fills `out` with the next bytes of the opened file and returns their number, which is less than the size of `out`
  /// only at the end. Throws if the file ends before its declared size, or has another checksum.
  virtual std::size_t read(std::span<std::byte> out) = 0;
  /// Compares the checksum of the next piece of a file that is stored as it is. Returns whether all of it was compared;
  /// until then, call it again. True for compressed files, whose checksum is compared while they are expanded.
  virtual bool compare(const ArchiveEntry& entry) = 0;
  /// A file whose parts are read at any place, after compare() of the rest: the archive's own bytes, if it is stored as
  /// it is, else expanded in memory.
  virtual std::shared_ptr<FileSource> source(const ArchiveEntry& entry) = 0;

  /// A whole file. It allocates no more memory than the archive has bytes for.
  std::vector<std::byte> read_all(const ArchiveEntry& entry);

 protected:
  ArchiveReader() = default;
  std::vector<ArchiveEntry> entries_;
};

/// Writes a ZIP archive, file by file, through a Vfs. The same contents give the same bytes at any time. The archive
/// gets its name when it is complete: until then, even after a loss of power, other programs see the previous file of
/// that name. Without commit() the written file is deleted.
class ArchiveWriter {
 public:
  virtual ~ArchiveWriter() = default;
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  /// Begins a file of at most `most` bytes. Throws Error(value) for a name that ArchiveReader refuses, and for a second
  /// file of a name; Error(io).
  virtual void begin(const std::string& name, bool compress, std::uint64_t most) = 0;
  /// Appends bytes to the file that was begun last. Throws Error(io).
  virtual void append(std::string_view bytes) = 0;
  /// Completes the archive and gives it its name. Nothing may be called afterwards. Throws Error(io).
  virtual void commit() = 0;

  /// Writes a whole file.
  void add(const std::string& name, std::string_view bytes, bool compress = false);

 protected:
  ArchiveWriter() = default;
};

/// A reader of an archive. `where` is the prefix of errors.
std::unique_ptr<ArchiveReader> open_archive(const std::shared_ptr<FileSource>& source, std::string_view where,
                                            const ArchiveLimits& limits = {});
/// The same of bytes in memory, which must outlive it.
std::unique_ptr<ArchiveReader> open_archive(std::span<const std::byte> bytes, std::string_view where,
                                            const ArchiveLimits& limits = {});
/// A writer of a file of `files`, or else of the host. Throws Error(io).
std::unique_ptr<ArchiveWriter> create_archive(const std::string& path, const std::shared_ptr<Vfs>& files = {});

// These forward to zip_reader and zip_writer, which use minizip.

std::unique_ptr<ArchiveReader> zip_reader(std::shared_ptr<FileSource> source, std::string_view where,
                                          const ArchiveLimits& limits);
std::unique_ptr<ArchiveWriter> zip_writer(const std::string& path, const std::shared_ptr<Vfs>& files);

/// The fault of a name of a file in an archive; empty for a relative path of at most 4096 bytes of UTF-8, of
/// names between slashes without "." and "..". A name that ends with a slash is a folder's.
std::string_view fault_of_name(std::string_view name);

}  // namespace etude
