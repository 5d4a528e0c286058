#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "etude/base/detail/archive.hpp"
#include "etude/base/detail/minizip.hpp"
#include "etude/base/error.hpp"

namespace etude {
namespace {

/// An archive in memory, for minizip. Its callers are functions of C, so nothing throws.
struct Source {
  std::span<const std::byte> bytes;
  std::uint64_t at = 0;
  bool beyond_end = false;  // of the last read
};
Source& source_of(voidpf opaque) { return *static_cast<Source*>(opaque); }

voidpf open_source(voidpf opaque, const void*, int) { return opaque; }
uLong read_source(voidpf opaque, voidpf, void* into, uLong size) {
  Source& source = source_of(opaque);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(size, source.bytes.size() - source.at));
  if (count) std::memcpy(into, source.bytes.data() + source.at, count);
  source.at += count;
  source.beyond_end = count < size;
  return static_cast<uLong>(count);
}
ZPOS64_T tell_source(voidpf opaque, voidpf) { return source_of(opaque).at; }
long seek_source(voidpf opaque, voidpf, ZPOS64_T offset, int origin) {
  Source& source = source_of(opaque);
  const std::uint64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? source.at
                             : origin == ZLIB_FILEFUNC_SEEK_END ? source.bytes.size()
                                                                : 0;
  const std::uint64_t target = from + offset;  // a negative offset wraps around
  if (target > source.bytes.size()) return -1;
  source.at = target;
  return 0;
}
int close_source(voidpf, voidpf) { return 0; }
int error_of_source(voidpf opaque, voidpf) { return source_of(opaque).beyond_end; }

struct Close {
  void operator()(void* file) const { unzClose(file); }
};

class ZipReader : public ArchiveReader {
 public:
  ZipReader(std::span<const std::byte> bytes, std::string_view where, const ArchiveLimits& limits)
      : source_{bytes}, where_(where), limits_(limits) {
    zlib_filefunc64_def functions{open_source, read_source,  nullptr,         tell_source,
                                  seek_source, close_source, error_of_source, &source_};
    file_.reset(unzOpen2_64("", &functions));
    require(file_ != nullptr, "no directory of files at the end");
    list();
  }

  void open(const ArchiveEntry& entry) override {
    go_to(entry);
    left_ = entry.size;
  }

  std::size_t read(std::span<std::byte> out) override {
    constexpr std::size_t most = std::size_t{1} << 24;  // minizip counts bytes in an int
    std::size_t filled = 0;
    while (filled < out.size() && left_ > 0) {
      const auto room = static_cast<unsigned>(std::min(out.size() - filled, most));
      const int count = unzReadCurrentFile(file_.get(), out.data() + filled, room);
      require(count > 0, "a damaged file");
      filled += static_cast<std::size_t>(count);
      left_ -= static_cast<std::uint64_t>(count);
    }
    if (left_ == 0) require(unzCloseCurrentFile(file_.get()) != UNZ_CRCERROR, "a file with another checksum");
    return filled;
  }

  std::optional<std::span<const std::byte>> view(const ArchiveEntry& entry) override {
    if (entry.compressed) return {};
    go_to(entry);
    const std::uint64_t begin = unzGetCurrentFileZStreamPos64(file_.get());
    unzCloseCurrentFile(file_.get());
    require(begin <= source_.bytes.size() && entry.size <= source_.bytes.size() - begin,
            "a file that ends beyond the archive");
    const auto found = source_.bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(entry.size));
    const uLong crc = found.empty() ? 0 : crc32_z(0, reinterpret_cast<const Bytef*>(found.data()), found.size());
    require(crc == place_of(entry).crc, "a file with another checksum");
    return found;
  }

 private:
  struct Place {
    unz64_file_pos at;
    uLong crc;
  };

  void require(bool ok, const char* what) const {
    check(ok, ErrorKind::data, where_, what, " - expected a whole ZIP archive - get the file again.");
  }
  const Place& place_of(const ArchiveEntry& entry) const {
    return places_[static_cast<std::size_t>(&entry - entries_.data())];
  }

  void go_to(const ArchiveEntry& entry) {
    unz64_file_pos at = place_of(entry).at;
    require(unzGoToFilePos64(file_.get(), &at) == UNZ_OK && unzOpenCurrentFile(file_.get()) == UNZ_OK,
            "a file whose header differs from the directory");
  }

  void list() {
    constexpr std::size_t shortest = 46;  // of an entry of the directory
    unz_global_info64 global{};
    unzGetGlobalInfo64(file_.get(), &global);
    const std::uint64_t size = source_.bytes.size();
    require(global.number_entry <= size / shortest, "a directory of more files than the archive can hold");
    check(global.number_entry <= limits_.entries, ErrorKind::data, where_, global.number_entry,
          " files - expected at most ", limits_.entries, " - check that this is the right file.");
    for (std::uint64_t i = 0; i < global.number_entry; ++i) {
      require((i ? unzGoToNextFile(file_.get()) : unzGoToFirstFile(file_.get())) == UNZ_OK, "a damaged directory");
      add_entry(i);
    }
  }

  void add_entry(std::uint64_t number) {
    char buffer[4097];
    unz_file_info64 info{};
    const int code = unzGetCurrentFileInfo64(file_.get(), &info, buffer, sizeof buffer, nullptr, 0, nullptr, 0);
    require(code == UNZ_OK, "a damaged directory");
    const std::string name(buffer, std::min<std::size_t>(info.size_filename, sizeof buffer));
    const std::string_view fault = fault_of_name(name);
    check(fault.empty(), ErrorKind::data, where_, "file ", number, " has a name that ", fault,
          " - expected the path of a file in the archive - make the archive again.");
    check(names_.insert(name).second, ErrorKind::data, where_, "two files \"", name,
          "\" - expected unique names - make the archive again.");
    constexpr uLong encrypted = 0x1 | 0x40 | 0x2000;
    check((info.flag & encrypted) == 0 && (info.compression_method == 0 || info.compression_method == Z_DEFLATED),
          ErrorKind::data, where_, '"', name, "\" is encrypted, or compressed by method ", info.compression_method,
          " - expected a file that is stored, or compressed by DEFLATE - make the archive again.");
    constexpr uLong kinds = 0xF000, link = 0xA000;  // of POSIX, in the upper half
    check((info.external_fa >> 16 & kinds) != link, ErrorKind::data, where_, '"', name,
          "\" is a symbolic link - expected a file - make the archive again.");
    add_sizes(name, info);
    if (name.ends_with('/')) return;
    entries_.push_back({name, info.uncompressed_size, info.compression_method != 0});
    Place& place = places_.emplace_back();
    place.crc = info.crc;
    unzGetFilePos64(file_.get(), &place.at);
  }

  void add_sizes(const std::string& name, const unz_file_info64& info) {
    require(info.compressed_size <= source_.bytes.size() - stored_, "files that overlap or are cut off");
    stored_ += info.compressed_size;
    if (info.compression_method == 0) {
      require(info.compressed_size == info.uncompressed_size, "a stored file of two different sizes");
    } else {
      constexpr std::uint64_t least = std::uint64_t{1} << 20;
      const std::uint64_t limit =
          limits_.expanded.value_or(std::max<std::uint64_t>(std::uint64_t{100} * source_.bytes.size(), least));
      check(info.uncompressed_size <= limit && expanded_ <= limit - info.uncompressed_size, ErrorKind::data, where_,
            "with \"", name, "\", ", source_.bytes.size(), " bytes expand to more than ", limit,
            " - expected less - check the file, or pass a larger limit.");
      expanded_ += info.uncompressed_size;
    }
    require(!name.ends_with('/') || info.uncompressed_size == 0, "a folder with contents");
  }

  Source source_;
  const std::string where_;
  const ArchiveLimits limits_;
  std::unique_ptr<void, Close> file_;
  std::vector<Place> places_;  // of entries_
  std::unordered_set<std::string> names_;
  std::uint64_t stored_ = 0, expanded_ = 0, left_ = 0;
};

}  // namespace

std::unique_ptr<ArchiveReader> zip_reader(std::span<const std::byte> bytes, std::string_view where,
                                          const ArchiveLimits& limits) {
  return std::make_unique<ZipReader>(bytes, where, limits);
}

}  // namespace etude
