#include "etude/saving/detail/tf_bundle.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "etude/base/detail/crc32c.hpp"
#include "etude/base/error.hpp"
#include "etude/saving/detail/tf_wire.hpp"

namespace etude {
namespace {

constexpr std::uint64_t index_limit = 100'000'000, text_limit = 100'000'000;
constexpr std::size_t footer_bytes = 48, magic_bytes = 8, trailer_bytes = 5, number_bytes = 4, name_limit = 4096;
constexpr std::uint64_t magic = 0xdb4775248b80fb57, shard_limit = 100'000;
constexpr std::uint64_t string_type = 7, int64_type = 9;

/// The checksums of such files: those of bytes that contain checksums would be weak otherwise.
std::uint32_t masked(std::uint32_t sum) { return (sum >> 15 | sum << 17) + 0xa282ead8u; }

/// Numbers of int64 are read as bytes of float64, and then converted.
struct TfType {
  std::uint64_t number;
  DType dtype;
};
constexpr TfType types[]{{1, DType::float32},  {2, DType::float64},         {3, DType::int32},
                         {4, DType::uint8},    {10, DType::boolean},        {14, DType::bfloat16},
                         {19, DType::float16}, {int64_type, DType::float64}};

/// The numbers of int64 in these bytes.
Tensor as_int32(std::span<const std::byte> bytes, const Shape& shape, std::string_view where, std::string_view name) {
  Tensor result(shape, DType::int32);
  for (std::size_t i = 0; i < bytes.size() / sizeof(std::int64_t); ++i) {
    std::int64_t number = 0;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    check(std::in_range<std::int32_t>(number), ErrorKind::data, where, '"', name, "\" with the number ", number,
          " - expected one of 32 bits - convert it before.");
    result.data<std::int32_t>()[i] = static_cast<std::int32_t>(number);
  }
  return result;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Shape shape_in(std::string_view message, std::string_view where, std::string_view name) {
  Shape shape;
  for (WireReader fields(message, where); fields.next();) {
    if (fields.field() != 2) continue;
    std::uint64_t extent = 0;
    for (WireReader dim(fields.text(), where); dim.next();)
      if (dim.field() == 1) extent = dim.number();
    check(shape.rank() < Shape::max_rank && extent <= INT64_MAX, ErrorKind::data, where, '"', name,
          "\" with an invalid shape - expected at most ", Shape::max_rank,
          " axes, each of a known extent - copy the checkpoint again.");
    shape.append(static_cast<std::int64_t>(extent));
  }
  return shape;
}

TfEntry entry_in(std::string_view message, std::string_view where, std::string_view name) {
  TfEntry entry;
  for (WireReader fields(message, where); fields.next();) switch (fields.field()) {
      case 1: entry.type = fields.number(); break;
      case 2: entry.shape = shape_in(fields.text(), where, name); break;
      case 3: entry.shard = fields.number(); break;
      case 4: entry.offset = fields.number(); break;
      case 5: entry.size = fields.number(); break;
      case 6: entry.sum = static_cast<std::uint32_t>(fields.number()); break;
      case 7: entry.is_sliced = true; break;
      default: break;
    }
  return entry;
}

std::vector<std::byte> index_at(const std::string& path, Vfs& files) {
  const std::unique_ptr<FileSource> source = files.source(path);
  check(source->size() <= index_limit, ErrorKind::data, path, "an index of ", source->size(),
        " bytes - expected at most ", index_limit, " - check that this is the right file.");
  std::vector<std::byte> bytes(static_cast<std::size_t>(source->size()));
  source->read(0, bytes);
  return bytes;
}

/// The bytes of a tensor; none if they are more than `most`.
std::optional<std::uint64_t> bytes_of(const Shape& shape, DType dtype, std::uint64_t most) {
  std::uint64_t bytes = size_of(dtype);
  if (std::ranges::count(shape, 0)) return 0;
  for (const std::int64_t extent : shape) {
    if (static_cast<std::uint64_t>(extent) > most / bytes) return {};
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

}  // namespace

TfBundle::TfBundle(const std::string& prefix, Vfs& files)
    : prefix_(prefix), path_(prefix + ".index"), files_(files), index_(index_at(path_, files)) {
  bool has_header = false;
  visit_table([&](const std::string& key, std::string_view value) {
    if (!key.empty()) return;
    has_header = true;
    for (WireReader fields(value, path_); fields.next();) {
      if (fields.field() == 1) shards_ = fields.number();
      check(fields.field() != 2 || fields.number() == 0, ErrorKind::data, path_,
            "numbers in big-endian order - expected little-endian ones - save the checkpoint on another machine.");
    }
  });
  check(has_header && shards_ > 0 && shards_ < shard_limit, ErrorKind::data, path_,
        "an index without the number of its files - expected one of TensorFlow 2 - save the checkpoint again.");
}

std::map<std::string, TfEntry> TfBundle::find(const std::set<std::string, std::less<>>& names) const {
  std::map<std::string, TfEntry> found;
  visit_table([&](const std::string& key, std::string_view value) {
    if (names.contains(key)) found.emplace(key, entry_in(value, path_, key));
  });
  return found;
}

/// The contents of the block of a handle, which must begin at `begin` or later; `begin` becomes its end.
std::string_view TfBundle::block_at(std::string_view& handle, std::uint64_t& begin) const {
  const std::string_view all = text_of(index_);
  const std::uint64_t end = all.size() - footer_bytes;
  std::uint64_t offset = 0, size = 0;
  const bool is_handle = take_varint(handle, offset) && take_varint(handle, size);
  check(is_handle && offset >= begin && offset <= end && size <= end - offset && end - offset - size >= trailer_bytes,
        ErrorKind::data, path_, "a block at byte ", offset, ", of ", size,
        " bytes - expected blocks one after the other within ", end, " bytes - copy the checkpoint again.");
  const std::string_view checked = all.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size) + 1),
                         sum = all.substr(static_cast<std::size_t>(offset + size) + 1, number_bytes);
  check(little_endian(sum) == masked(crc32c(checked)), ErrorKind::data, path_, "a wrong checksum of the block at byte ",
        offset, " - expected an undamaged file - copy the checkpoint again.");
  check(checked.back() == 0, ErrorKind::data, path_, "a compressed block at byte ", offset,
        " - expected blocks without compression, as TensorFlow 2 writes them - save the checkpoint again.");
  begin = offset + size + trailer_bytes;
  return checked.substr(0, checked.size() - 1);
}

/// Visits the entries of a block. Keys ascend, also from one block to the next; each shares its beginning with the
/// previous one.
void TfBundle::visit_block(std::string_view block, std::string& key, bool& is_first, const Visit& visit) const {
  const auto require = [&](bool ok) {
    check(ok, ErrorKind::data, path_, "a damaged block - expected entries of ascending names up to ", name_limit,
          " bytes - copy the checkpoint again.");
  };
  require(block.size() >= number_bytes);
  const std::uint64_t restarts = little_endian(block.substr(block.size() - number_bytes)),
                      most = (block.size() - number_bytes) / number_bytes;
  require(restarts <= most);
  std::string_view rest = block.substr(0, block.size() - number_bytes * (static_cast<std::size_t>(restarts) + 1));
  while (!rest.empty()) {
    std::uint64_t shared = 0, added = 0, size = 0;
    const bool has_sizes = take_varint(rest, shared) && take_varint(rest, added) && take_varint(rest, size);
    require(has_sizes && shared <= key.size() && added <= rest.size() && size <= rest.size() - added &&
            shared + added <= name_limit);
    // The new key is greater if it is at the first byte that it does not share.
    const std::string_view end = rest.substr(0, static_cast<std::size_t>(added));
    require(is_first || std::string_view(key).substr(static_cast<std::size_t>(shared)) < end);
    is_first = false;
    key.resize(static_cast<std::size_t>(shared));
    key.append(end);
    visit(key, rest.substr(end.size(), static_cast<std::size_t>(size)));
    rest.remove_prefix(end.size() + static_cast<std::size_t>(size));
  }
}

void TfBundle::visit_table(const Visit& visit) const {
  const std::string_view all = text_of(index_);
  check(all.size() >= footer_bytes && little_endian(all.substr(all.size() - magic_bytes)) == magic, ErrorKind::data,
        path_, all.size(), " bytes that are no index - expected a checkpoint of TensorFlow 2 - copy it again.");
  std::string_view footer = all.substr(all.size() - footer_bytes, footer_bytes - magic_bytes);
  std::uint64_t begin = 0, blocks_end = 0;
  block_at(footer, begin);  // of metadata, which TensorFlow leaves empty
  begin = 0;
  const std::string_view index = block_at(footer, begin);
  std::string last_key, key;
  bool is_first_block = true, is_first = true;
  visit_block(index, last_key, is_first_block, [&](const std::string&, std::string_view handle) {
    visit_block(block_at(handle, blocks_end), key, is_first, visit);
  });
}

/// The file of an entry, which has all of its bytes.
FileSource& TfBundle::shard_of(const std::string& name, const TfEntry& entry) {
  check(entry.shard < shards_ && !entry.is_sliced, ErrorKind::data, path_, '"', name, "\" in ",
        entry.is_sliced ? "several pieces" : "a missing file",
        " - expected a tensor in one piece - save the checkpoint without a partitioner.");
  if (!source_ || shard_ != entry.shard) {
    char ending[40];
    std::snprintf(ending, sizeof ending, ".data-%05u-of-%05u", static_cast<unsigned>(entry.shard),
                  static_cast<unsigned>(shards_));
    shard_path_ = prefix_ + ending;
    source_ = files_.source(shard_path_);
    shard_ = entry.shard;
  }
  const std::uint64_t size = source_->size();
  check(entry.offset <= size && entry.size <= size - entry.offset, ErrorKind::data, shard_path_, '"', name, "\" of ",
        entry.size, " bytes at byte ", entry.offset, " - expected it within ", size,
        " bytes - copy the checkpoint again.");
  return *source_;
}

std::string TfBundle::text(const std::string& name, const TfEntry& entry) {
  FileSource& source = shard_of(name, entry);
  check(entry.type == string_type && entry.shape.rank() == 0, ErrorKind::data, path_, '"', name,
        "\" that is no text - expected a checkpoint of TensorFlow 2 - save it again.");
  check(entry.size <= text_limit, ErrorKind::data, shard_path_, '"', name, "\" of ", entry.size,
        " bytes - expected a text of at most ", text_limit, " - check that this is the right file.");
  std::vector<std::byte> bytes(static_cast<std::size_t>(entry.size));
  source.read(entry.offset, bytes);
  // A length, its checksum, and the text. The sums are those of the length in four bytes.
  std::string_view rest = text_of(bytes);
  std::uint64_t length = 0;
  const bool fits = take_varint(rest, length) && length <= UINT32_MAX && rest.size() == length + number_bytes;
  check(fits, ErrorKind::data, shard_path_, '"', name, "\" of another length than ", entry.size,
        " bytes - expected an undamaged file - copy the checkpoint again.");
  std::string summed(number_bytes, '\0');
  for (std::size_t i = 0; i < number_bytes; ++i) summed[i] = static_cast<char>(length >> 8 * i & 0xFF);
  check(masked(crc32c(rest, crc32c(summed))) == entry.sum, ErrorKind::data, shard_path_, "a wrong checksum of \"", name,
        "\" at byte ", entry.offset, " - expected an undamaged file - copy the checkpoint again.");
  return std::string(rest.substr(number_bytes));
}

Tensor TfBundle::read(const std::string& name, const TfEntry& entry) {
  const auto* type = std::ranges::find(types, entry.type, &TfType::number);
  check(type != std::end(types), ErrorKind::dtype, path_, '"', name, "\" of TensorFlow's type ", entry.type,
        " - expected a float, int32, int64, uint8 or bool - convert it before.");
  FileSource& source = shard_of(name, entry);
  check(bytes_of(entry.shape, type->dtype, entry.size) == entry.size, ErrorKind::data, path_, '"', name, "\" of shape ",
        entry.shape, " in ", entry.size, " bytes - expected as many as the shape has - copy the checkpoint again.");
  Tensor tensor(entry.shape, type->dtype);
  const std::span bytes(tensor.raw(), static_cast<std::size_t>(entry.size));
  source.read(entry.offset, bytes);
  check(masked(crc32c(bytes)) == entry.sum, ErrorKind::data, shard_path_, "a wrong checksum of \"", name, "\" at byte ",
        entry.offset, " - expected an undamaged file - copy the checkpoint again.");
  check(
      type->dtype != DType::boolean || std::ranges::all_of(bytes, [](std::byte each) { return each <= std::byte{1}; }),
      ErrorKind::data, shard_path_, '"', name,
      "\" with a bool that is neither 0 nor 1 - expected an undamaged file - copy the checkpoint again.");
  return entry.type == int64_type ? as_int32(bytes, entry.shape, shard_path_, name) : tensor;
}

}  // namespace etude
