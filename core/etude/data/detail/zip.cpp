#include "etude/data/detail/zip.hpp"

#include <algorithm>
#include <array>
#include <concepts>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr auto crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0xEDB88320u : 0u);
  }
  return table;
}();

std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~0u;
  for (const std::byte byte : bytes) crc = crc_table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

/// Reads numbers of an archive, and throws Error(data) beyond its end.
class Archive {
 public:
  Archive(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  template <std::unsigned_integral T> T number(std::uint64_t at) const {
    std::uint64_t value = 0;
    const std::span<const std::byte> bytes = piece(at, sizeof(T));
    for (std::size_t i = sizeof(T); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return static_cast<T>(value);
  }
  std::span<const std::byte> piece(std::uint64_t at, std::uint64_t size) const {
    require(at <= bytes_.size() && size <= bytes_.size() - at, "a file that lies beyond its end");
    return bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  }
  void require(bool ok, const char* what) const {
    check(ok, ErrorKind::data, where_, what, " - expected a whole ZIP archive - get the file again.");
  }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::string_view where_;
};

/// Where the directory begins, and how many files it lists.
struct Directory {
  std::uint64_t begin, files;
};

Directory directory_of(const Archive& archive) {
  constexpr std::uint64_t size = 22, longest_comment = 0xFFFF;
  archive.require(archive.size() >= size, "too few bytes");
  std::uint64_t at = archive.size() - size;
  const std::uint64_t first = at - std::min(at, longest_comment);
  while (at > first && archive.number<std::uint32_t>(at) != 0x06054b50) --at;
  archive.require(archive.number<std::uint32_t>(at) == 0x06054b50, "no directory of files");
  const Directory small{archive.number<std::uint32_t>(at + 16), archive.number<std::uint16_t>(at + 10)};
  if (small.begin != 0xFFFFFFFF && small.files != 0xFFFF) return small;
  archive.require(at >= 20 && archive.number<std::uint32_t>(at - 20) == 0x07064b50, "no large directory of files");
  const auto large = archive.number<std::uint64_t>(at - 12);
  archive.require(archive.number<std::uint32_t>(large) == 0x06064b50, "no large directory of files");
  return {archive.number<std::uint64_t>(large + 48), archive.number<std::uint64_t>(large + 32)};
}

/// Numbers that do not fit into 32 bits are in the extra field of type 1, in this order.
void read_large_numbers(const Archive& archive, std::uint64_t extra, std::uint64_t size,
                        std::initializer_list<std::uint64_t*> numbers) {
  for (const std::uint64_t end = extra + size; extra + 4 <= end;) {
    const std::uint64_t length = archive.number<std::uint16_t>(extra + 2);
    std::uint64_t at = extra + 4;
    if (archive.number<std::uint16_t>(extra) == 1)
      for (std::uint64_t* number : numbers)
        if (*number == 0xFFFFFFFF && at + 8 <= extra + 4 + length) {
          *number = archive.number<std::uint64_t>(at);
          at += 8;
        }
    extra += 4 + length;
  }
}

}  // namespace

std::vector<ZipEntry> zip_entries(std::span<const std::byte> bytes, std::string_view where) {
  const Archive archive(bytes, where);
  const Directory directory = directory_of(archive);
  std::vector<ZipEntry> entries;
  std::uint64_t at = directory.begin, stored = 0;
  for (std::uint64_t i = 0; i < directory.files; ++i) {
    archive.require(archive.number<std::uint32_t>(at) == 0x02014b50, "a damaged directory");
    const auto flags = archive.number<std::uint16_t>(at + 8), method = archive.number<std::uint16_t>(at + 10);
    std::uint64_t packed = archive.number<std::uint32_t>(at + 20), size = archive.number<std::uint32_t>(at + 24),
                  begin = archive.number<std::uint32_t>(at + 42);
    const std::uint64_t name = archive.number<std::uint16_t>(at + 28), extra = archive.number<std::uint16_t>(at + 30),
                        comment = archive.number<std::uint16_t>(at + 32);
    read_large_numbers(archive, at + 46 + name, extra, {&size, &packed, &begin});
    const std::span<const std::byte> text = archive.piece(at + 46, name);
    check((flags & 1) == 0 && (method == 0 || method == 8), ErrorKind::data, where,
          "a file that is encrypted, or compressed by method ", method,
          " - expected files that are stored, or compressed by DEFLATE - save them by numpy.savez.");
    archive.require(archive.number<std::uint32_t>(begin) == 0x04034b50, "a file without a header");
    const std::uint64_t header =
        30u + archive.number<std::uint16_t>(begin + 26) + std::uint64_t{archive.number<std::uint16_t>(begin + 28)};
    ZipEntry& entry = entries.emplace_back(std::string(reinterpret_cast<const char*>(text.data()), text.size()),
                                           archive.piece(begin + header, packed), method == 8, size,
                                           archive.number<std::uint32_t>(at + 16));
    stored += packed;
    archive.require(stored <= archive.size(), "files that overlap");
    archive.require(entry.deflated || (size == packed && crc32_of(entry.bytes) == entry.crc),
                    "a file with another checksum or size than its own");
    at += 46 + name + extra + comment;
  }
  return entries;
}

std::vector<std::byte> as_gzip(const ZipEntry& entry) {
  std::vector<std::byte> result{std::byte{0x1f}, std::byte{0x8b}, std::byte{8}};
  result.resize(9);
  result.push_back(std::byte{0xff});  // an unknown system
  result.insert(result.end(), entry.bytes.begin(), entry.bytes.end());
  for (const std::uint32_t number : {entry.crc, static_cast<std::uint32_t>(entry.size)})
    for (int shift = 0; shift < 32; shift += 8) result.push_back(static_cast<std::byte>(number >> shift));
  return result;
}

}  // namespace etude
