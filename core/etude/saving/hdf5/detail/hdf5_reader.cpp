#include "etude/saving/hdf5/detail/hdf5_reader.hpp"

#include <algorithm>
#include <limits>

#include "etude/base/detail/utf8.hpp"
#include "etude/base/error.hpp"
#include "etude/saving/hdf5/detail/hdf5_elements.hpp"
#include "etude/saving/hdf5/detail/hdf5_layout.hpp"

namespace etude::hdf5 {
namespace {

constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";

}  // namespace

Reader::Reader(std::shared_ptr<FileSource> source, std::string name, std::optional<std::uint64_t> limit)
    : file_(std::move(source), std::move(name)) {
  constexpr std::uint64_t least = std::uint64_t{1} << 20, most_ratio = 100;
  limit_ = limit.value_or(std::max(least, most_ratio * file_.end()));
  read_superblock();
}

void Reader::read_superblock() {
  constexpr std::size_t longest = 96, size_in_2 = 48;
  check(file_.end() >= size_in_2, ErrorKind::data, "hdf5", '"', file_.name(), "\" has ", file_.end(),
        " bytes - expected an HDF5 file - check that this is the right file.");
  const std::vector<std::byte> block = file_.begin_of(0, longest);
  Bytes bytes(file_, 0, block);
  check(bytes.begins(signature), ErrorKind::data, "hdf5", '"', file_.name(),
        "\" does not begin as an HDF5 file - expected one - check that this is the right file.");
  const std::uint64_t version = bytes.number(1);
  if (version > 3) file_.refuse(8, "a file of version " + std::to_string(version), "0 to 3");
  if (version < 2) bytes.skip(4);  // versions of parts, reserved
  if (bytes.number(1) != 8 || bytes.number(1) != 8) file_.refuse(bytes.at(), "short addresses", "addresses of 8 bytes");
  // Versions 0 and 1: reserved, sizes of nodes, flags; version 1: another size, reserved.
  bytes.skip(version == 0 ? 9 : version == 1 ? 13 : 1);
  if (bytes.address() != 0) file_.refuse(bytes.at(), "a file that begins later", "one that begins at byte 0");
  bytes.skip(8);  // free parts, or an extension
  const std::uint64_t end = bytes.address();
  if (version < 2) bytes.skip(16);  // a driver; the name of the root
  root_ = bytes.address();
  if (version >= 2) verify_checksum(file_, 0, std::span(block).first(size_in_2));
  file_.set_end(end);
  file_.claim(0, version < 2 ? bytes.at() : size_in_2, nowhere);
}

const Links& Reader::links(std::uint64_t group) {
  const auto found = links_.find(group);
  if (found != links_.end()) return found->second;
  const ObjectHeader header(file_, group);
  file_.require(header.is_group() && !header.is_dataset(), group, "no group", "a group");
  return links_[group] = links_of(file_, header);
}

ObjectKind Reader::kind_of(std::uint64_t address) {
  if (address == nowhere) return ObjectKind::other;
  const auto known = kinds_.find(address);
  if (known != kinds_.end()) return known->second;
  const ObjectHeader header(file_, address);
  return kinds_[address] = header.is_dataset() ? ObjectKind::dataset
                           : header.is_group() ? ObjectKind::group
                                               : ObjectKind::other;
}

std::optional<std::uint64_t> Reader::find(std::string_view path) {
  std::uint64_t address = root_;
  for (std::size_t depth = 0; !path.empty(); ++depth) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name.empty()) continue;
    file_.require(depth < depth_limit, address, "a path of too many groups", "at most 64");
    if (kind_of(address) != ObjectKind::group) return {};
    const Links& names = links(address);
    const auto found = names.find(name);
    if (found == names.end()) return {};
    address = found->second;
  }
  return address;
}

ObjectHeader Reader::object(std::string_view path) {
  const std::optional<std::uint64_t> found = find(path);
  check(found.has_value(), ErrorKind::data, "hdf5", '"', file_.name(), "\" has no \"", path,
        "\" - expected a group or dataset of this name - check the file.");
  check(*found != nowhere, ErrorKind::data, "hdf5", '"', file_.name(), "\": \"", path,
        "\" is a link to a path or to another file - expected the object itself - write the file as Keras does.");
  return {file_, *found};
}

std::vector<Entry> Reader::list(std::string_view group) {
  const std::uint64_t address = object(group).address();
  std::vector<Entry> entries;
  for (const auto& [name, object] : links(address)) entries.push_back({name, kind_of(object)});
  return entries;
}

std::optional<ObjectKind> Reader::kind(std::string_view path) {
  const std::optional<std::uint64_t> found = find(path);
  if (!found) return {};
  return kind_of(*found);
}

std::vector<std::string> Reader::datasets() {
  std::vector<std::string> paths;
  std::set<std::uint64_t> seen;
  append_datasets(root_, "", seen, paths);
  return paths;
}

void Reader::append_datasets(std::uint64_t group, const std::string& before, std::set<std::uint64_t>& seen,
                             std::vector<std::string>& paths) {
  const auto depth = static_cast<std::size_t>(std::ranges::count(before, '/'));
  file_.require(seen.insert(group).second, group, "a group that is in several groups, or in itself", "one place");
  file_.require(depth < depth_limit, group, "a path of too many groups", "at most 64");
  for (const auto& [name, object] : links(group)) {
    file_.require(before.size() + name.size() < path_limit, group, "a path that is too long", "at most 4096 bytes");
    const ObjectKind kind = kind_of(object);
    if (kind == ObjectKind::group) append_datasets(object, before + name + '/', seen, paths);
    if (kind == ObjectKind::dataset) paths.push_back(before + name);
    file_.require(paths.size() <= objects_limit, group, "too many datasets", "at most a million");
  }
}

Dataset Reader::dataset(std::string_view path) {
  const ObjectHeader header = object(path);
  check(header.is_dataset(), ErrorKind::data, "hdf5", '"', file_.name(), "\": \"", path,
        "\" is no dataset - expected one - check the file.");
  Dataset result = dataset_of(file_, header, std::string(path), [&] {
    const auto dtype = texts_of(header, "dtype");
    return dtype && dtype->size() == 1 && dtype->front() == "bfloat16";
  });
  if (!result.filters.empty() && counted_.insert(header.address()).second) {
    expanded_ += result.chunks.size() * static_cast<std::uint64_t>(result.chunk->size()) * size_of(result.number);
    check(expanded_ <= limit_, ErrorKind::data, "hdf5", '"', file_.name(), "\": its datasets expand to more than ",
          limit_, " bytes - expected less - check the file, or write it without compression.");
  }
  return result;
}

void Reader::read(const Dataset& dataset, std::span<std::byte> out) {
  check(out.size() == dataset.bytes(), ErrorKind::value, "hdf5", "memory of ", out.size(), " bytes for \"",
        dataset.path, "\" - expected ", dataset.bytes(), " - pass as many.");
  if (!dataset.chunk && !dataset.compact && !dataset.big_endian) {
    if (!out.empty()) file_.read(dataset.at, out);
    return;
  }
  const std::size_t size = size_of(dataset.number);
  visit_elements(file_, dataset, [&](std::uint64_t first, std::span<const std::byte> bytes) {
    copy_elements(dataset, bytes, out.data() + first * size);
  });
}

void Reader::read(const Dataset& dataset, Tensor& into) {
  check(into.shape() == dataset.shape, ErrorKind::shape, "hdf5", '"', file_.name(), "\": \"", dataset.path,
        "\" has shape ", dataset.shape, " - expected ", into.shape(), " - check the model, or the file.");
  check(converts(dataset.number, into.dtype()), ErrorKind::data, "hdf5", '"', file_.name(), "\": \"", dataset.path,
        "\" has dtype ", name_of(dataset.number), " - expected one that becomes ", name_of(into.dtype()),
        " - check the model, or the file.");
  const DType dtype = into.dtype();
  if (number_of(dtype) == dataset.number && dtype != DType::boolean)
    return read(dataset, std::span(into.raw(), into.bytes()));
  visit_elements(file_, dataset, [&](std::uint64_t first, std::span<const std::byte> bytes) {
    convert_elements(file_, dataset, bytes, dtype, into.raw() + first * size_of(dtype));
  });
}

Tensor Reader::read(const Dataset& dataset, std::optional<DType> dtype) {
  const DType wanted = dtype.value_or(dtype_of_number(dataset.number));
  constexpr std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  check(dataset.size() <= most / size_of(wanted), ErrorKind::data, "hdf5", '"', file_.name(), "\": \"", dataset.path,
        "\" has shape ", dataset.shape, " - expected one that fits this program's memory - use a 64-bit build.");
  Tensor result = Tensor::uninitialized(dataset.shape, wanted);
  read(dataset, result);
  return result;
}

}  // namespace etude::hdf5
