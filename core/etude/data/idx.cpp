#include "etude/data/idx.hpp"

#ifdef ETUDE_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/vfs.hpp"

namespace etude {
namespace {

/// Element types: the third byte of an IDX file.
enum class IdxType : std::uint8_t {
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0B,
  int32 = 0x0C,
  float32 = 0x0D,
  float64 = 0x0E
};

std::size_t size_of(IdxType type, std::string_view where) {
  switch (type) {
    case IdxType::uint8:
    case IdxType::int8: return 1;
    case IdxType::int16: return 2;
    case IdxType::int32:
    case IdxType::float32: return 4;
    case IdxType::float64: return 8;
  }
  fail(ErrorKind::data, where, "element type ", static_cast<int>(type),
       " - expected 8, 9, 11, 12, 13 or 14 (uint8, int8, int16, int32, float32, float64) - check that this is an IDX "
       "file.");
}

/// The big-endian unsigned integer at `bytes`.
template <std::unsigned_integral T> T read_big_endian(const std::byte* bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(std::uint64_t{value} << 8 | std::to_integer<T>(bytes[i]));
  return value;
}

/// A tensor of To from big-endian elements whose bits are those of From.
template <class To, class From, std::unsigned_integral Bits>
Tensor decode(const Shape& shape, const std::byte* bytes) {
  Tensor tensor(shape, dtype_of<To>);
  for (To& value : tensor.data<To>()) {
    value = static_cast<To>(std::bit_cast<From>(read_big_endian<Bits>(bytes)));
    bytes += sizeof(Bits);
  }
  return tensor;
}

/// Reads the shape in the header, and checks that the payload can contain its elements.
Shape read_shape(std::span<const std::byte> header, std::uint64_t element_size, std::uint64_t payload,
                 std::string_view where) {
  Shape shape;
  std::uint64_t elements = 1;
  bool plausible = true;
  for (std::size_t i = 0; i < header.size() / 4; ++i) {
    const auto extent = read_big_endian<std::uint32_t>(header.data() + 4 * i);
    // An extent of 0 does not change the product of the others, so an overflow is found in any order of axes.
    const std::uint64_t factor = std::max<std::uint32_t>(extent, 1);
    plausible = plausible && elements <= (std::uint64_t{1} << 40) / factor;
    elements *= plausible ? factor : 1;
    shape.append(static_cast<std::int64_t>(extent));
  }
  check(plausible, ErrorKind::data, where, "shape ", shape,
        " - expected at most 2^40 elements - the header is damaged; get "
        "the file again.");
  const std::uint64_t expected = static_cast<std::uint64_t>(shape.size()) * element_size;
  check(payload >= expected, ErrorKind::data, where, "only ", payload, " bytes of data for shape ", shape,
        " - expected ", expected, " - the file is truncated; get it again.");
  check(payload == expected, ErrorKind::data, where, payload - expected, " bytes follow the data of shape ", shape,
        " - expected the file to end there - check that this is an IDX file.");
  return shape;
}

}  // namespace

Tensor parse_idx(std::span<const std::byte> bytes, std::string_view where) {
  check(bytes.size() >= 4, ErrorKind::data, where, bytes.size(),
        " bytes - expected at least the four of an IDX header - the file is truncated; get it again.");
  check(bytes[0] == std::byte{0} && bytes[1] == std::byte{0}, ErrorKind::data, where, "the first bytes are ",
        std::to_integer<int>(bytes[0]), " and ", std::to_integer<int>(bytes[1]),
        " - expected 0 and 0, the start of an IDX file - check that this is an IDX file.");
  const auto type = static_cast<IdxType>(bytes[2]);
  const std::size_t element_size = size_of(type, where);
  const auto rank = std::to_integer<std::size_t>(bytes[3]);
  check(rank >= 1 && rank <= Shape::max_rank, ErrorKind::data, where, rank, " axes - expected 1 to ", Shape::max_rank,
        " - check that this is an IDX file.");
  check(bytes.size() >= 4 + 4 * rank, ErrorKind::data, where, bytes.size(), " bytes - expected a header of ",
        4 + 4 * rank, " - the file is truncated; get it again.");
  const auto header = bytes.subspan(4, 4 * rank), payload = bytes.subspan(4 + 4 * rank);
  const Shape shape = read_shape(header, element_size, payload.size(), where);
  switch (type) {
    case IdxType::uint8: break;
    case IdxType::int8: return decode<std::int32_t, std::int8_t, std::uint8_t>(shape, payload.data());
    case IdxType::int16: return decode<std::int32_t, std::int16_t, std::uint16_t>(shape, payload.data());
    case IdxType::int32: return decode<std::int32_t, std::int32_t, std::uint32_t>(shape, payload.data());
    case IdxType::float32: return decode<float, float, std::uint32_t>(shape, payload.data());
    case IdxType::float64: return decode<double, double, std::uint64_t>(shape, payload.data());
  }
  Tensor tensor(shape, DType::uint8);
  if (!payload.empty()) std::memcpy(tensor.raw(), payload.data(), payload.size());
  return tensor;
}

Tensor read_idx(const std::string& path, std::optional<std::uint64_t> limit) {
  const std::vector<std::byte> bytes = read_file(path);
  return is_gzip(bytes) ? parse_idx(gunzip(bytes, path, limit), path) : parse_idx(bytes, path);
}

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

#ifdef ETUDE_ZLIB
namespace {

/// One zlib stream for gzip data, freed with its scope.
class Inflater {
 public:
  Inflater() {
    check(inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK, ErrorKind::internal, "gzip",
          "zlib cannot start - "
          "expected memory for its tables - free some memory.");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Decompresses from `in` to `out`, removes the used parts of both, and returns zlib's code.
  int expand(std::span<const std::byte>& in, std::span<std::byte>& out) {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    const std::size_t given = std::min(in.size(), most), room = std::min(out.size(), most);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(given - stream_.avail_in);
    out = out.subspan(room - stream_.avail_out);
    return code;
  }
  void start_next_member() { inflateReset(&stream_); }
  const char* message() const { return stream_.msg ? stream_.msg : "no details"; }

 private:
  z_stream stream_{};
};

void check_limit(std::uint64_t filled, std::uint64_t limit, std::size_t size, std::string_view where) {
  check(filled <= limit, ErrorKind::data, where, "expands to more than ", limit, " bytes, of ", size,
        " - expected less - check the file, or pass a larger limit.");
}

}  // namespace

std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::string_view where,
                              std::optional<std::uint64_t> chosen) {
  constexpr std::uint64_t least = std::uint64_t{1} << 20, most = std::uint64_t{1} << 62;
  const std::uint64_t limit = std::min(chosen.value_or(std::max<std::uint64_t>(100 * bytes.size(), least)), most);
  check(is_gzip(bytes), ErrorKind::data, where, "the data does not begin with 1f 8b - expected gzip - check the file.");
  Inflater inflater;
  std::vector<std::byte> result;
  std::size_t filled = 0;
  for (auto in = bytes;;) {
    if (filled == result.size()) {
      // One byte beyond the limit suffices to detect damaged input. Doubling limits the memory that a damaged size can
      // allocate.
      check_limit(filled, limit, bytes.size(), where);
      result.resize(static_cast<std::size_t>(
          std::min<std::uint64_t>(std::max<std::uint64_t>(4 * bytes.size(), 2 * filled), limit + 1)));
    }
    std::span<std::byte> out = std::span(result).subspan(filled);
    const int code = inflater.expand(in, out);
    filled = result.size() - out.size();
    if (code == Z_STREAM_END) {
      if (in.empty()) break;
      check(is_gzip(in), ErrorKind::data, where, in.size(),
            " bytes follow the gzip data - expected the end - get the file again.");
      inflater.start_next_member();
      continue;
    }
    check(code == Z_OK || code == Z_BUF_ERROR, ErrorKind::data, where, "damaged gzip data (", inflater.message(),
          ") - expected an intact file - get it again.");
    check(!in.empty() || out.empty(), ErrorKind::data, where, "the gzip data ends after ", bytes.size(),
          " bytes, in its middle - expected an intact file - it is truncated; get it again.");
  }
  check_limit(filled, limit, bytes.size(), where);
  result.resize(filled);
  return result;
}
#else
std::vector<std::byte> gunzip(std::span<const std::byte>, std::string_view where, std::optional<std::uint64_t>) {
  fail(ErrorKind::state, where, "gzip data in a build without zlib - expected plain data - expand it first.");
}
#endif

}  // namespace etude
