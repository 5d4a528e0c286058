#include "etude/data/npz.hpp"

#include <utility>

#include "etude/base/detail/archive.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/data/detail/npy_format.hpp"
#include "etude/data/detail/npz_arrays.hpp"
#include "etude/data/npy_writer.hpp"

namespace etude {
namespace {

constexpr std::string_view extension = ".npy";

/// An array of an archive.
class ArrayInNpz {
 public:
  ArrayInNpz(std::shared_ptr<ArchiveReader> archive, const ArchiveEntry& entry, std::string where)
      : archive_(std::move(archive)), entry_(entry), where_(std::move(where)) {
    archive_->open(entry_);
    try {
      format_ = read_npy_format([&](std::span<std::byte> out) { archive_->read(out); }, entry_.size, where_);
    } catch (const Error&) {
      archive_->source(entry_);  // throws the error of a damaged file, if it is one
      throw;
    }
  }

  const NpyFormat& format() const { return format_; }
  Tensor read() const {
    const std::shared_ptr<FileSource> source = archive_->source(entry_);
    const auto next = [&, at = format_.begin](std::span<std::byte> out) mutable {
      source->read(at, out);
      at += out.size();
    };
    return read_npy_elements(format_, next, where_);
  }

 private:
  std::shared_ptr<ArchiveReader> archive_;
  const ArchiveEntry& entry_;
  std::string where_;
  NpyFormat format_;
};

// Models' weights are arrays, too. Entry points of a part of the WebAssembly module, listed in bindings/parts.mjs: they
// are called by address only.

void arrays_in_npz(const std::shared_ptr<FileSource>& source, std::span<const std::byte> bytes, std::string_view where,
                   std::optional<std::uint64_t> limit, const std::function<void(const StoredTensor&)>& visit) {
  const ArchiveLimits limits{.expanded = limit};
  const std::shared_ptr<ArchiveReader> archive =
      source ? open_archive(source, where, limits) : open_archive(bytes, where, limits);
  for (const ArchiveEntry& entry : archive->entries()) {
    check(entry.name.ends_with(extension), ErrorKind::data, where, "the file \"", entry.name,
          "\" - expected arrays, whose names end in .npy - save the arrays by numpy.savez.");
    const ArrayInNpz array(archive, entry, std::string(where) + '/' + entry.name);
    visit({entry.name.substr(0, entry.name.size() - extension.size()), array.format().shape, array.format().dtype,
           [array] { return array.read(); }});
  }
}

void arrays_to_npz(const std::string& path, std::size_t count, const std::function<StoredTensor(std::size_t)>& array_at,
                   bool compressed) {
  const auto archive = create_archive(path);
  for (std::size_t i = 0; i < count; ++i) {
    const StoredTensor array = array_at(i);
    const std::string header = npy_header(array.shape, array.dtype);
    const Tensor values = array.read();
    archive->begin(array.name + std::string(extension), compressed, header.size() + values.bytes());
    archive->append(header);
    archive->append({reinterpret_cast<const char*>(values.raw()), values.bytes()});
  }
  archive->commit();
}

}  // namespace

namespace detail {

// Not constant, so that no compiler replaces the addresses by calls.
decltype(&arrays_in_npz) npz_reader = arrays_in_npz;
decltype(&arrays_to_npz) npz_writer = arrays_to_npz;

}  // namespace detail

void visit_npz_arrays(const std::shared_ptr<FileSource>& source, std::string_view where,
                      const std::function<void(const StoredTensor&)>& visit) {
  detail::npz_reader(source, {}, where, {}, visit);
}

void write_npz_arrays(const std::string& path, std::size_t count, const std::function<StoredTensor(std::size_t)>& array,
                      bool compressed) {
  detail::npz_writer(path, count, array, compressed);
}

std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, std::string_view where,
                                        std::optional<std::uint64_t> limit) {
  std::map<std::string, Tensor> arrays;
  detail::npz_reader({}, bytes, where, limit,
                     [&](const StoredTensor& array) { arrays[std::string(array.name)] = array.read(); });
  return arrays;
}

std::map<std::string, Tensor> read_npz(const std::string& path, std::optional<std::uint64_t> limit) {
  std::map<std::string, Tensor> arrays;
  detail::npz_reader(vfs_or_host({}, "npz")->source(path), {}, path, limit,
                     [&](const StoredTensor& array) { arrays[std::string(array.name)] = array.read(); });
  return arrays;
}

void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
               const WriteNpzOptions& options) {
  const auto array_at = [&](std::size_t i) -> StoredTensor {
    const auto& [name, array] = arrays[i];
    return {name, array.shape(), array.dtype(), [&held = array] { return held; }};
  };
  write_npz_arrays(path, arrays.size(), array_at, options.compressed);
}

}  // namespace etude
