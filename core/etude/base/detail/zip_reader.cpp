#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <unordered_set>
#include <utility>

#include "etude/base/detail/archive.hpp"
#include "etude/base/detail/minizip.hpp"
#include "etude/base/error.hpp"

namespace etude {
namespace {

/// The bytes of an archive, for minizip, which reads headers byte by byte. Its callers are functions of C, so nothing
/// throws.
class Source {
 public:
  explicit Source(std::shared_ptr<FileSource> bytes) : bytes_(std::move(bytes)), size_(bytes_->size()) {}

  std::uint64_t size() const { return size_; }
  std::uint64_t at() const { return at_; }
  void go_to(std::uint64_t at) {
    if (!first_target) first_target = at;
    at_ = at;
  }
  /// Whether the last read wanted bytes that do not exist, or failed.
  bool failed() const { return failed_; }
  const std::shared_ptr<FileSource>& bytes() const { return bytes_; }

  /// Returns the number of bytes that were read.
  std::size_t read(std::span<std::byte> out) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - at_));
    failed_ = error || count < out.size();
    if (error) return 0;  // minizip continues after errors
    try {
      for (out = out.first(count); !out.empty();) out = out.subspan(read_some(out));
    } catch (...) {
      error = std::current_exception();
      failed_ = true;
      return 0;
    }
    return count;
  }

  /// The error of the source. Nothing is read until it is taken.
  std::exception_ptr error;
  /// The first place to which it went since this was reset.
  std::optional<std::uint64_t> first_target;

 private:
  static constexpr std::size_t window_size = std::size_t{1} << 16;

  std::size_t read_some(std::span<std::byte> out) {
    if (at_ < begin_ || at_ >= begin_ + window_.size()) {
      begin_ = at_ / window_size * window_size;  // aligned: minizip looks for the directory from the end backwards
      try {
        window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(window_size, size_ - begin_)));
        bytes_->read(begin_, window_);
      } catch (...) {
        window_.clear();
        throw;
      }
    }
    const auto from = std::span(window_).subspan(static_cast<std::size_t>(at_ - begin_));
    const std::size_t count = std::min(from.size(), out.size());
    std::memcpy(out.data(), from.data(), count);
    at_ += count;
    return count;
  }

  const std::shared_ptr<FileSource> bytes_;
  const std::uint64_t size_;
  std::uint64_t at_ = 0, begin_ = 0;
  std::vector<std::byte> window_;  // from `begin_` on
  bool failed_ = false;
};
Source& source_of(voidpf opaque) { return *static_cast<Source*>(opaque); }

voidpf open_source(voidpf opaque, const void*, int) { return opaque; }
uLong read_source(voidpf opaque, voidpf, void* into, uLong size) {
  return static_cast<uLong>(source_of(opaque).read({static_cast<std::byte*>(into), static_cast<std::size_t>(size)}));
}
ZPOS64_T tell_source(voidpf opaque, voidpf) { return source_of(opaque).at(); }
long seek_source(voidpf opaque, voidpf, ZPOS64_T offset, int origin) {
  Source& source = source_of(opaque);
  const std::uint64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? source.at()
                             : origin == ZLIB_FILEFUNC_SEEK_END ? source.size()
                                                                : 0;
  const std::uint64_t target = from + offset;  // a negative offset wraps around
  if (target > source.size()) return -1;
  source.go_to(target);
  return 0;
}
int close_source(voidpf, voidpf) { return 0; }
int error_of_source(voidpf opaque, voidpf) { return source_of(opaque).failed(); }

struct Close {
  void operator()(void* file) const { unzClose(file); }
};

class ZipReader : public ArchiveReader {
 public:
  ZipReader(std::shared_ptr<FileSource> source, std::string_view where, const ArchiveLimits& limits)
      : source_(std::move(source)), where_(where), limits_(limits) {
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

  bool compare(const ArchiveEntry& entry) override {
    if (entry.compressed) return true;
    constexpr std::uint64_t most = std::uint64_t{1} << 18;
    const std::uint64_t begin = begin_of(entry);
    Place& place = place_of(entry);
    if (place.compared < entry.size) {
      std::vector<std::byte> piece(static_cast<std::size_t>(std::min(entry.size - place.compared, most)));
      source_.bytes()->read(begin + place.compared, piece);
      place.sum = crc32_z(place.sum, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
      place.compared += piece.size();
    }
    if (place.compared < entry.size) return false;
    require(place.sum == place.crc, "a file with another checksum");
    return true;
  }

  std::shared_ptr<FileSource> source(const ArchiveEntry& entry) override {
    if (entry.compressed) return std::make_shared<MemorySource>(read_all(entry));
    while (!compare(entry)) continue;
    return std::make_shared<PartSource>(source_.bytes(), begin_of(entry), entry.size);
  }

 private:
  struct Place {
    unz64_file_pos at;
    uLong crc;
    /// The bytes whose checksum was computed, and that checksum.
    std::uint64_t compared = 0;
    uLong sum = 0;
    /// The first byte of the file in the archive, once it is known.
    std::optional<std::uint64_t> begin = {};
  };

  static constexpr const char* overlap = "files that overlap or are cut off";

  /// Throws the source's own error, if it has one.
  void require(bool ok, const char* what) {
    if (source_.error) std::rethrow_exception(std::exchange(source_.error, nullptr));
    check(ok, ErrorKind::data, where_, what, " - expected a whole ZIP archive - get the file again.");
  }
  Place& place_of(const ArchiveEntry& entry) { return places_[static_cast<std::size_t>(&entry - entries_.data())]; }

  std::uint64_t begin_of(const ArchiveEntry& entry) {
    std::optional<std::uint64_t>& known = place_of(entry).begin;
    if (known) return *known;
    go_to(entry);
    const std::uint64_t begin = unzGetCurrentFileZStreamPos64(file_.get());
    unzCloseCurrentFile(file_.get());
    require(begin <= source_.size() && entry.size <= source_.size() - begin, "a file that ends beyond the archive");
    return *(known = begin);
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
    const std::uint64_t size = source_.size();
    require(global.number_entry <= size / shortest, "a directory of more files than the archive can hold");
    check(global.number_entry <= limits_.entries, ErrorKind::data, where_, global.number_entry,
          " files - expected at most ", limits_.entries, " - check that this is the right file.");
    for (std::uint64_t i = 0; i < global.number_entry; ++i) {
      require((i ? unzGoToNextFile(file_.get()) : unzGoToFirstFile(file_.get())) == UNZ_OK, "a damaged directory");
      add_entry(i);
    }
    std::uint64_t end = 0;
    for (const auto& [begin, next] : std::exchange(ranges_, {})) {
      require(begin >= end, overlap);
      end = next;
    }
    require(end <= directory_, overlap);
  }

  void add_entry(std::uint64_t number) {
    char buffer[4097];
    unz_file_info64 info{};
    source_.first_target.reset();
    const int code = unzGetCurrentFileInfo64(file_.get(), &info, buffer, sizeof buffer, nullptr, 0, nullptr, 0);
    require(code == UNZ_OK && source_.first_target.has_value(), "a damaged directory");
    const std::uint64_t record = *source_.first_target;
    if (number == 0) directory_ = record;
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
    add_range(record, info);
    if (name.ends_with('/')) return;
    entries_.push_back({name, info.uncompressed_size, info.compression_method != 0});
    Place& place = places_.emplace_back();
    place.crc = info.crc;
    unzGetFilePos64(file_.get(), &place.at);
  }

  /// Notes which bytes of the archive a file has at least: its header, its name, and its contents. minizip does
  /// not return the place of the header.
  void add_range(std::uint64_t record, const unz_file_info64& info) {
    constexpr std::uint64_t local_header = 30;
    unz64_file_pos declared{};
    unzGetFilePos64(file_.get(), &declared);
    const std::uint64_t before = record - declared.pos_in_zip_directory;  // bytes that precede the archive
    const std::uint64_t size = source_.size(), offset = offset_in(record, info), begin = before + offset;
    require(offset <= size && begin <= size && local_header + info.size_filename <= size - begin &&
                info.compressed_size <= size - begin - local_header - info.size_filename,
            overlap);
    require(ranges_.emplace(begin, begin + local_header + info.size_filename + info.compressed_size).second, overlap);
  }

  /// The offset of a file's header. Its record in the directory has it; in large archives the ZIP64 field has it, after
  /// the sizes that are stored there.
  std::uint64_t offset_in(std::uint64_t record, const unz_file_info64& info) {
    constexpr std::uint64_t sizes_at = 20, offset_at = 42, name_at = 46, in_field = 0xFFFF'FFFF, large = 1;
    const std::uint64_t offset = number_at(record + offset_at, 4);
    if (offset != in_field) return offset;
    std::uint64_t at = record + name_at + info.size_filename;
    const std::uint64_t end = at + info.size_file_extra;
    while (end - at >= 4) {
      const std::uint64_t kind = number_at(at, 2), size = number_at(at + 2, 2);
      at += 4;
      require(size <= end - at, "a damaged directory");
      if (kind == large) {
        std::uint64_t before = 0;
        for (const std::uint64_t place : {sizes_at, sizes_at + 4})
          if (number_at(record + place, 4) == in_field) before += 8;
        require(before + 8 <= size, "a damaged directory");
        return number_at(at + before, 8);
      }
      at += size;
    }
    return offset;
  }

  std::uint64_t number_at(std::uint64_t at, std::size_t size) {
    std::byte bytes[8];
    require(at <= source_.size(), "a damaged directory");
    source_.go_to(at);
    require(source_.read(std::span(bytes).first(size)) == size, "a damaged directory");
    std::uint64_t number = 0;
    for (std::size_t i = size; i-- > 0;) number = number << 8 | static_cast<std::uint64_t>(bytes[i]);
    return number;
  }

  void add_sizes(const std::string& name, const unz_file_info64& info) {
    if (info.compression_method == 0) {
      require(info.compressed_size == info.uncompressed_size, "a stored file of two different sizes");
    } else {
      constexpr std::uint64_t least = std::uint64_t{1} << 20;
      const std::uint64_t limit =
          limits_.expanded.value_or(std::max<std::uint64_t>(std::uint64_t{100} * source_.size(), least));
      check(info.uncompressed_size <= limit && expanded_ <= limit - info.uncompressed_size, ErrorKind::data, where_,
            "with \"", name, "\", ", source_.size(), " bytes expand to more than ", limit,
            " - expected less - check the file, or store it without compression.");
      expanded_ += info.uncompressed_size;
    }
    require(!name.ends_with('/') || info.uncompressed_size == 0, "a folder with contents");
  }

  Source source_;
  const std::string where_;
  const ArchiveLimits limits_;
  std::unique_ptr<void, Close> file_;
  std::vector<Place> places_;                      // of entries_
  std::map<std::uint64_t, std::uint64_t> ranges_;  // where each file begins, and ends
  std::uint64_t directory_ = 0;                    // where it begins
  std::unordered_set<std::string> names_;
  std::uint64_t expanded_ = 0, left_ = 0;
};

}  // namespace

std::unique_ptr<ArchiveReader> zip_reader(std::shared_ptr<FileSource> source, std::string_view where,
                                          const ArchiveLimits& limits) {
  return std::make_unique<ZipReader>(std::move(source), where, limits);
}

}  // namespace etude
