#include <algorithm>
#include <array>
#include <limits>

#include "etude/saving/hdf5/detail/hdf5_object.hpp"

namespace etude::hdf5 {
namespace {

constexpr std::array<std::string_view, 12> class_names{"integers", "floats",  "times",        "texts",
                                                       "bits",     "bytes",   "records",      "references",
                                                       "choices",  "varying", "small arrays", "complex numbers"};

[[noreturn]] void refuse_type(const Bytes& bytes, std::uint64_t type_class) {
  const std::string_view name =
      type_class < class_names.size() ? class_names[static_cast<std::size_t>(type_class)] : "unknown elements";
  bytes.file().refuse(bytes.at(), std::string("elements of a type that is not read (") + std::string(name) + ')',
                      "whole numbers, floats of 2, 4 or 8 bytes, or texts");
}

Number integer_of(std::uint64_t size, bool is_signed, const Bytes& bytes) {
  switch (size) {
    case 1: return is_signed ? Number::int8 : Number::uint8;
    case 2: return is_signed ? Number::int16 : Number::uint16;
    case 4: return is_signed ? Number::int32 : Number::uint32;
    case 8: return is_signed ? Number::int64 : Number::uint64;
    default: refuse_type(bytes, 0);
  }
}

/// The fields of a float: bits of precision, place and size of the exponent, size of the fraction, bias.
struct FloatFormat {
  Number number;
  std::uint64_t size, exponent_at, exponent, fraction, bias;
};
constexpr std::array<FloatFormat, 4> float_formats{{{Number::float16, 2, 10, 5, 10, 15},
                                                    {Number::bfloat16, 2, 7, 8, 7, 127},
                                                    {Number::float32, 4, 23, 8, 23, 127},
                                                    {Number::float64, 8, 52, 11, 52, 1023}}};

Number float_of(Bytes bytes, std::uint64_t size, std::uint64_t bits) {
  const Bytes begin = bytes;
  const std::uint64_t offset = bytes.number(2), precision = bytes.number(2), exponent_at = bytes.number(1),
                      exponent = bytes.number(1), fraction_at = bytes.number(1), fraction = bytes.number(1),
                      bias = bytes.number(4), sign_at = bits >> 8 & 0xFF, normalization = bits >> 4 & 3;
  constexpr std::uint64_t implied_bit = 2;
  for (const FloatFormat& format : float_formats) {
    if (size == format.size && exponent_at == format.exponent_at && exponent == format.exponent &&
        fraction == format.fraction && bias == format.bias && fraction_at == 0 && offset == 0 &&
        precision == 8 * size && sign_at == precision - 1 && normalization == implied_bit)
      return format.number;
  }
  refuse_type(begin, 1);
}

/// Whether an enumeration is h5py's FALSE = 0 and TRUE = 1.
bool is_boolean(Bytes bytes, std::uint64_t version, std::uint64_t members) {
  if (members != 2) return false;
  const Type base = type_of(bytes);
  constexpr std::size_t base_size = 12;
  if (base.kind != Type::Kind::number || base.size != 1) return false;
  bytes.skip(base_size);
  for (const std::string_view name : {"FALSE", "TRUE"}) {
    const std::string text = bytes.text();
    if (text != name) return false;
    if (version < 3) bytes.skip((8 - (text.size() + 1) % 8) % 8);
  }
  return bytes.number(1) == 0 && bytes.number(1) == 1;
}

}  // namespace

Type type_of(Bytes bytes) {
  const Bytes begin = bytes;
  const std::uint64_t first = bytes.number(1), type_class = first & 0xF, version = first >> 4, bits = bytes.number(3),
                      size = bytes.number(4);
  begin.require(version >= 1 && version <= 5 && size > 0, "an unknown type", "one of version 1 to 5");
  switch (type_class) {
    case 0: {
      const std::uint64_t offset = bytes.number(2), precision = bytes.number(2);
      if (offset != 0 || precision != 8 * size) refuse_type(begin, type_class);
      return {Type::Kind::number, integer_of(size, (bits & 8) != 0, begin), (bits & 1) != 0, size};
    }
    case 1:
      if (bits & 0x40) refuse_type(begin, type_class);  // VAX
      return {Type::Kind::number, float_of(bytes, size, bits), (bits & 1) != 0, size};
    case 3: return {.kind = Type::Kind::text, .size = size, .padded_with_spaces = (bits & 0xF) == 2};
    case 5: return {.kind = Type::Kind::opaque, .size = size};
    case 8:
      if (size != 1 || !is_boolean(bytes, version, bits & 0xFFFF)) refuse_type(begin, type_class);
      return {.kind = Type::Kind::number, .number = Number::boolean};
    case 9:
      if ((bits & 0xF) != 1 || size != 16) refuse_type(begin, type_class);
      return {.kind = Type::Kind::varying_text, .size = size};
    default: refuse_type(begin, type_class);
  }
}

std::optional<Shape> shape_of(Bytes bytes) {
  const Bytes begin = bytes;
  const std::uint64_t version = bytes.number(1), rank = bytes.number(1);
  bytes.skip(1);  // whether largest extents follow
  begin.require(version == 1 || version == 2, "a shape of an unknown version", "1 or 2");
  begin.require(rank <= Shape::max_rank, "a shape of more than 8 axes", "at most 8");
  if (version == 2) {
    constexpr std::uint64_t null_space = 2;
    if (bytes.number(1) == null_space) return {};
  } else {
    bytes.skip(5);
  }
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t product = 8;  // bytes of the largest element
  Shape shape;
  for (std::uint64_t axis = 0; axis < rank; ++axis) {
    const std::uint64_t extent = bytes.number(8);
    begin.require(extent <= most / product, "a shape of too many elements", "less than 2^60");
    if (extent) product *= extent;  // a zero extent must not hide an overflow of the others
    shape.append(static_cast<std::int64_t>(extent));
  }
  return shape;
}

std::vector<Filter> filters_of(Bytes bytes) {
  const std::uint64_t version = bytes.number(1), count = bytes.number(1);
  bytes.require(version == 1 || version == 2, "filters of an unknown version", "1 or 2");
  if (version == 1) bytes.skip(6);
  std::vector<Filter> filters;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bytes begin = bytes;
    const std::uint64_t filter = bytes.number(2);
    const std::uint64_t name = version == 1 || filter >= 256 ? bytes.number(2) : 0;
    bytes.skip(2);
    const std::uint64_t values = bytes.number(2);
    bytes.skip(version == 1 ? (name + 7) / 8 * 8 : name);
    Bytes parameters = bytes.part(4 * values);
    if (version == 1 && values % 2) bytes.skip(4);
    constexpr std::uint64_t kinds = 3;
    if (filter < 1 || filter > kinds)
      begin.file().refuse(begin.at(), "filter " + std::to_string(filter), "gzip, shuffle or fletcher32");
    const auto kind = static_cast<FilterKind>(filter);
    const auto element = static_cast<std::uint32_t>(kind == FilterKind::shuffle ? parameters.number(4) : 1);
    begin.require(element > 0, "a shuffle of elements without bytes", "at least one byte");
    begin.require(std::ranges::find(filters, kind, &Filter::kind) == filters.end(), "a filter twice", "once");
    filters.push_back({kind, element});
  }
  return filters;
}

}  // namespace etude::hdf5
