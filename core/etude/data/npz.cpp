#include "etude/data/npz.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/data/detail/zip.hpp"
#include "etude/data/idx.hpp"
#include "etude/data/npy.hpp"

namespace etude {
namespace {

constexpr std::string_view extension = ".npy";

/// The name of an array, and of its file in errors.
struct Names {
  std::string array, file;
};

Names names_of(const ZipEntry& entry, std::string_view where) {
  check(entry.name.ends_with(extension), ErrorKind::data, where, "the file \"", entry.name,
        "\" - expected arrays, whose names end in .npy - save the arrays by numpy.savez.");
  return {entry.name.substr(0, entry.name.size() - extension.size()), std::string(where) + '/' + entry.name};
}

}  // namespace

std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, std::string_view where,
                                        std::optional<std::uint64_t> limit) {
  constexpr std::uint64_t least = std::uint64_t{1} << 20;
  std::uint64_t left = limit.value_or(std::max<std::uint64_t>(100 * bytes.size(), least));
  std::map<std::string, Tensor> arrays;
  for (const ZipEntry& entry : zip_entries(bytes, where)) {
    const Names names = names_of(entry, where);
    if (!entry.deflated) {
      arrays[names.array] = parse_npy(entry.bytes, names.file);
      continue;
    }
    const std::vector<std::byte> npy = gunzip(as_gzip(entry), names.file, left);
    left -= npy.size();
    arrays[names.array] = parse_npy(npy, names.file);
  }
  return arrays;
}

std::map<std::string, Tensor> read_npz(const std::string& path, std::optional<std::uint64_t> limit) {
  return parse_npz(read_file(path), path, limit);
}

std::vector<NpzEntry> npz_entries(std::span<const std::byte> bytes, std::string_view where) {
  std::vector<NpzEntry> result;
  for (const ZipEntry& entry : zip_entries(bytes, where)) {
    NpzEntry& array = result.emplace_back(names_of(entry, where).array, std::vector<std::byte>(), entry.deflated);
    if (entry.deflated)
      array.bytes = as_gzip(entry);
    else
      array.bytes.assign(entry.bytes.begin(), entry.bytes.end());
  }
  return result;
}

}  // namespace etude
