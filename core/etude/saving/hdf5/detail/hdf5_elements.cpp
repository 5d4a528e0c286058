#include "etude/saving/hdf5/detail/hdf5_elements.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "etude/base/detail/inflate.hpp"
#include "etude/base/error.hpp"

namespace etude::hdf5 {
namespace {

static_assert(std::endian::native == std::endian::little, "files' bytes are copied as they are");

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint32_t a = 0, b = 0;
  const auto fold = [](std::uint32_t& sum) { sum = (sum & 0xFFFF) + (sum >> 16); };
  constexpr std::size_t until_overflow = 720;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(until_overflow, bytes.size()));
    for (std::size_t i = 0; i < piece.size(); i += 2) {
      a += std::to_integer<std::uint32_t>(piece[i]) << 8;
      if (i + 1 < piece.size()) a += std::to_integer<std::uint32_t>(piece[i + 1]);
      b += a;
    }
    fold(a);
    fold(b);
    bytes = bytes.subspan(piece.size());
  }
  fold(a);
  fold(b);
  return b << 16 | a;
}

/// The elements' bytes, of which all first ones are stored first, then all second ones, ….
std::vector<std::byte> unshuffled(std::vector<std::byte> bytes, std::size_t element) {
  const std::size_t count = bytes.size() / element;
  if (count == 0) return bytes;  // the number of the element's bytes is the file's
  std::vector<std::byte> result(bytes.size());
  for (std::size_t byte = 0; byte < element; ++byte)
    for (std::size_t i = 0; i < count; ++i) result[i * element + byte] = bytes[byte * count + i];
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(count * element), bytes.end(),
            result.begin() + static_cast<std::ptrdiff_t>(count * element));
  return result;
}

/// A chunk without its filters. `size`: its bytes.
std::vector<std::byte> expanded(const File& file, const Dataset& dataset, const Chunk& chunk, std::size_t size) {
  constexpr std::size_t sum_size = 4;
  std::vector<std::byte> bytes(static_cast<std::size_t>(chunk.size));
  file.read(chunk.at, bytes);
  for (std::size_t i = dataset.filters.size(); i-- > 0;) {
    if (chunk.mask >> i & 1) continue;
    const Filter& filter = dataset.filters[i];
    switch (filter.kind) {
      case FilterKind::fletcher32: {
        file.require(bytes.size() > sum_size, chunk.at, "a chunk without its checksum", "more bytes");
        const std::size_t end = bytes.size() - sum_size;
        Bytes stored(file, chunk.at, std::span(bytes).subspan(end));
        require_checksum(file, chunk.at, stored.number(sum_size), fletcher32(std::span(bytes).first(end)));
        bytes.resize(end);
        break;
      }
      case FilterKind::shuffle: bytes = unshuffled(std::move(bytes), filter.element); break;
      case FilterKind::deflate: {
        std::size_t wanted = size;  // and the sums of filters before it
        for (std::size_t before = 0; before < i; ++before)
          if (!(chunk.mask >> before & 1) && dataset.filters[before].kind == FilterKind::fletcher32) wanted += sum_size;
        std::vector<std::byte> result(wanted);
        file.require(inflate_zlib(bytes, result), chunk.at, "damaged compressed data", "data of the chunk's size");
        bytes = std::move(result);
        break;
      }
    }
  }
  file.require(bytes.size() == size, chunk.at, "a chunk of another size", "that of the dataset's chunks");
  return bytes;
}

using Visit = std::function<void(std::uint64_t, std::span<const std::byte>)>;

/// The part of a chunk that lies in the dataset, row by row.
void visit_rows(const Dataset& dataset, std::uint64_t index, std::span<const std::byte> bytes, const Visit& visit) {
  const std::size_t rank = dataset.shape.rank(), element = size_of(dataset.number);
  const std::int64_t *extents = dataset.shape.begin(), *chunk = dataset.chunk->begin();
  std::uint64_t origin[Shape::max_rank], kept[Shape::max_rank], at[Shape::max_rank]{}, rows = 1;
  for (std::size_t axis = rank; axis-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(extents[axis]), size = static_cast<std::uint64_t>(chunk[axis]);
    const std::uint64_t count = (extent - 1) / size + 1;
    origin[axis] = index % count * size;
    index /= count;
    kept[axis] = std::min(size, extent - origin[axis]);
    if (axis + 1 < rank) rows *= kept[axis];
  }
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t from = 0, to = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      from = from * static_cast<std::uint64_t>(chunk[axis]) + at[axis];
      to = to * static_cast<std::uint64_t>(extents[axis]) + origin[axis] + at[axis];
    }
    visit(to,
          bytes.subspan(static_cast<std::size_t>(from) * element, static_cast<std::size_t>(kept[rank - 1]) * element));
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      if (++at[axis] < kept[axis]) break;
      at[axis] = 0;
    }
  }
}

/// The bits of an element, the first of `bytes`.
std::uint64_t bits_of(const std::byte* bytes, std::size_t size, bool big_endian) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < size; ++i)
    bits |= std::to_integer<std::uint64_t>(bytes[big_endian ? size - 1 - i : i]) << 8 * i;
  return bits;
}

double float_of(Number number, std::uint64_t bits) {
  switch (number) {
    case Number::float16: return Float16{std::bit_cast<Float16>(static_cast<std::uint16_t>(bits))};
    case Number::bfloat16: return std::bit_cast<BFloat16>(static_cast<std::uint16_t>(bits));
    case Number::float32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    default: return std::bit_cast<double>(bits);
  }
}

bool is_signed(Number number) { return number <= Number::int64; }
bool is_float(Number number) { return number >= Number::float16 && number <= Number::bfloat16; }

template <class T> void store(T value, std::byte* out) { std::memcpy(out, &value, sizeof value); }

void store_float(double value, DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::float64: return store(value, out);
    case DType::float16: return store(Float16(static_cast<float>(value)), out);
    case DType::bfloat16: return store(BFloat16(static_cast<float>(value)), out);
    default: return store(static_cast<float>(value), out);
  }
}

}  // namespace

void visit_elements(const File& file, const Dataset& dataset, const Visit& visit) {
  if (dataset.bytes() == 0) return;
  if (dataset.compact) return visit(0, *dataset.compact);
  const std::size_t element = size_of(dataset.number);
  if (!dataset.chunk) {
    constexpr std::uint64_t most = std::uint64_t{1} << 16;
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(most, dataset.bytes())));
    for (std::uint64_t done = 0; done < dataset.bytes(); done += buffer.size()) {
      const auto piece = std::span(buffer).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), dataset.bytes() - done)));
      file.read(dataset.at + done, piece);
      visit(done / element, piece);
    }
    return;
  }
  const auto size = static_cast<std::size_t>(dataset.chunk->size()) * element;
  for (const Chunk& chunk : dataset.chunks)
    visit_rows(dataset, chunk.index, expanded(file, dataset, chunk, size), visit);
}

void copy_elements(const Dataset& dataset, std::span<const std::byte> bytes, std::byte* out) {
  const std::size_t size = size_of(dataset.number);
  if (!dataset.big_endian || size == 1) {
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
    return;
  }
  for (std::size_t i = 0; i < bytes.size(); i += size)
    std::reverse_copy(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                      bytes.begin() + static_cast<std::ptrdiff_t>(i + size), out + i);
}

bool converts(Number from, DType to) {
  if (is_float(from)) return is_floating(to);
  return (from == Number::boolean) == (to == DType::boolean) || from == Number::boolean;
}

void convert_elements(const File& file, const Dataset& dataset, std::span<const std::byte> bytes, DType dtype,
                      std::byte* out) {
  const std::size_t size = size_of(dataset.number), out_size = size_of(dtype);
  if (dataset.number == Number::boolean)
    file.require(std::ranges::none_of(bytes, [](std::byte byte) { return byte > std::byte{1}; }), dataset.at,
                 "a bool that is neither 0 nor 1", "one of them");
  if (number_of(dtype) == dataset.number) return copy_elements(dataset, bytes, out);
  const std::uint64_t most = dtype == DType::uint8 ? 0xFF : 0x7FFF'FFFF, least = dtype == DType::int32 ? most + 1 : 0;
  for (std::size_t i = 0; i < bytes.size(); i += size, out += out_size) {
    const std::uint64_t bits = bits_of(bytes.data() + i, size, dataset.big_endian);
    if (is_float(dataset.number)) {
      store_float(float_of(dataset.number, bits), dtype, out);
      continue;
    }
    const bool negative = is_signed(dataset.number) && bits >> (8 * size - 1);
    const std::uint64_t magnitude = !negative ? bits : size == 8 ? 0 - bits : (std::uint64_t{1} << 8 * size) - bits;
    if (is_floating(dtype)) {
      const auto value = static_cast<double>(magnitude);
      store_float(negative ? -value : value, dtype, out);
      continue;
    }
    check(magnitude <= (negative ? least : most), ErrorKind::data, "hdf5", '"', file.name(), "\": \"", dataset.path,
          "\" holds the number ", negative ? "-" : "", magnitude, " - expected one that fits ", name_of(dtype),
          " - convert it before.");
    const auto number = static_cast<std::uint32_t>(negative ? 0 - magnitude : magnitude);
    if (dtype == DType::uint8)
      store(static_cast<std::uint8_t>(number), out);
    else
      store(number, out);
  }
}

}  // namespace etude::hdf5
