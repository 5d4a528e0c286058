#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etude {

/// A file in a ZIP archive.
struct ZipEntry {
  /// Its path in the archive.
  std::string name;
  /// Its bytes, as they are stored.
  std::span<const std::byte> bytes;
  /// Whether they are compressed by DEFLATE. Otherwise they are the file itself, with the right checksum.
  bool deflated;
  /// The size, and the CRC-32, of the file.
  std::uint64_t size;
  std::uint32_t crc;
};

/// The files in a ZIP archive, in the order of its directory, as views of `bytes`. Throws Error(data) if it is damaged,
/// encrypted, or compressed by other methods. Together the files have at most as many bytes as the archive. Source:
/// PKWARE's APPNOTE.TXT 6.3.
std::vector<ZipEntry> zip_entries(std::span<const std::byte> bytes, std::string_view where);

/// A compressed file as gzip data, whose reader checks its size and its checksum.
std::vector<std::byte> as_gzip(const ZipEntry& entry);

}  // namespace etude
