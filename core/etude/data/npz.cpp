#include "etude/data/npz.hpp"

#include "etude/base/detail/archive.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/data/npy.hpp"
#include "etude/data/npy_writer.hpp"

namespace etude {
namespace {

constexpr std::string_view extension = ".npy";

// Models' weights are arrays, too. The doors of a part of the WebAssembly module, which bindings/parts.mjs names: they
// are called by address only.

std::map<std::string, Tensor> arrays_in_npz(std::span<const std::byte> bytes, std::string_view where,
                                            std::optional<std::uint64_t> limit) {
  const auto archive = open_archive(bytes, where, {.expanded = limit});
  std::map<std::string, Tensor> arrays;
  for (const ArchiveEntry& entry : archive->entries()) {
    check(entry.name.ends_with(extension), ErrorKind::data, where, "the file \"", entry.name,
          "\" - expected arrays, whose names end in .npy - save the arrays by numpy.savez.");
    const std::string file = std::string(where) + '/' + entry.name;
    const auto stored = archive->view(entry);
    arrays[entry.name.substr(0, entry.name.size() - extension.size())] =
        stored ? parse_npy(*stored, file) : parse_npy(archive->read_all(entry), file);
  }
  return arrays;
}

void arrays_to_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
                   const WriteNpzOptions& options) {
  const auto archive = create_archive(path);
  for (const auto& [name, array] : arrays) {
    const std::string header = npy_header(array.shape(), array.dtype());
    archive->begin(name + std::string(extension), options.compressed, header.size() + array.bytes());
    archive->append(header);
    archive->append({reinterpret_cast<const char*>(array.raw()), array.bytes()});
  }
  archive->commit();
}

}  // namespace

namespace detail {

// Not constant, so that no compiler replaces the addresses by calls.
decltype(&arrays_in_npz) npz_reader = arrays_in_npz;
decltype(&arrays_to_npz) npz_writer = arrays_to_npz;

}  // namespace detail

std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, std::string_view where,
                                        std::optional<std::uint64_t> limit) {
  return detail::npz_reader(bytes, where, limit);
}

std::map<std::string, Tensor> read_npz(const std::string& path, std::optional<std::uint64_t> limit) {
  return parse_npz(read_file(path), path, limit);
}

void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
               const WriteNpzOptions& options) {
  detail::npz_writer(path, arrays, options);
}

}  // namespace etude
