#include "etude/base/detail/archive.hpp"

#include <algorithm>

#include "etude/base/detail/utf8.hpp"

namespace etude {
namespace {

// Entry points of a part of the WebAssembly module, listed in bindings/parts.mjs: they are called by address only.

std::unique_ptr<ArchiveReader> open_zip(const std::shared_ptr<FileSource>& source, std::span<const std::byte> bytes,
                                        std::string_view where, const ArchiveLimits& limits) {
  return zip_reader(source ? source : std::make_shared<MemorySource>(bytes, nullptr), where, limits);
}
std::unique_ptr<ArchiveWriter> create_zip(const std::string& path, const std::shared_ptr<Vfs>& files) {
  return zip_writer(path, files);
}

}  // namespace

namespace detail {

// Not constant, so that no compiler replaces the addresses by calls.
decltype(&open_zip) archive_opener = open_zip;
decltype(&create_zip) archive_creator = create_zip;

}  // namespace detail

const ArchiveEntry* ArchiveReader::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &ArchiveEntry::name);
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<std::byte> ArchiveReader::read_all(const ArchiveEntry& entry) {
  // A declared size must not allocate memory for bytes that do not come.
  constexpr std::uint64_t first = std::uint64_t{1} << 14;
  open(entry);
  std::vector<std::byte> result;
  for (std::uint64_t filled = 0, room = std::min(entry.size, first);; room = std::min(entry.size, 4 * room)) {
    result.resize(static_cast<std::size_t>(room));
    filled += read(std::span(result).subspan(static_cast<std::size_t>(filled)));
    if (filled == entry.size) return result;
  }
}

void ArchiveWriter::add(const std::string& name, std::string_view bytes, bool compress) {
  begin(name, compress, bytes.size());
  append(bytes);
}

std::unique_ptr<ArchiveReader> open_archive(const std::shared_ptr<FileSource>& source, std::string_view where,
                                            const ArchiveLimits& limits) {
  return detail::archive_opener(source, {}, where, limits);
}

std::unique_ptr<ArchiveReader> open_archive(std::span<const std::byte> bytes, std::string_view where,
                                            const ArchiveLimits& limits) {
  return detail::archive_opener(nullptr, bytes, where, limits);
}

std::unique_ptr<ArchiveWriter> create_archive(const std::string& path, const std::shared_ptr<Vfs>& files) {
  return detail::archive_creator(path, files);
}

std::string_view fault_of_name(std::string_view name) {
  constexpr std::size_t longest = 4096;
  if (name.empty()) return "is empty";
  if (name.size() > longest) return "has more than 4096 bytes";
  if (!is_utf8(name) || name.find('\0') != name.npos) return "is not UTF-8";
  if (name.find('\\') != name.npos) return "contains a backslash";
  if (name.ends_with('/')) name.remove_suffix(1);
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view piece = name.substr(begin, end - begin);
    if (piece.empty() || piece == "." || piece == "..") return "is not a relative path without \"..\"";
    begin = end + 1;
  }
  return {};
}

}  // namespace etude
