#include "etude/data/detail/npy_format.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Reads NumPy's header: a Python dictionary with three entries, and no other syntax of Python.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  void expect(char c) { require(accept(c), "a header that is not NumPy's"); }
  bool accept(char c) {
    skip_spaces();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string_view string() {
    skip_spaces();
    require(!text_.empty() && (text_.front() == '\'' || text_.front() == '"'), "a header without a string");
    const std::size_t end = text_.find(text_.front(), 1);
    require(end != std::string_view::npos, "an unclosed string in the header");
    const std::string_view result = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return result;
  }
  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    require(false, "\"fortran_order\" that is neither True nor False");
    return false;
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> result;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      std::int64_t extent = -1;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      require(error == std::errc{} && extent >= 0 && result.size() < Shape::max_rank, "a shape beyond Étude's limits");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      result.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }
  void end() {
    skip_spaces();
    require(text_.empty(), "text after the header");
  }
  void require(bool ok, std::string_view what) const {
    check(ok, ErrorKind::data, where_, what, " - expected NumPy's .npy format - save the array again.");
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
  }

  std::string_view text_, where_;
};

void copy_booleans(const std::byte* in, std::byte* out, std::int64_t count, std::string_view where) {
  std::copy_n(in, count, out);
  const std::byte* wrong = std::find_if(out, out + count, [](std::byte value) { return value > std::byte{1}; });
  check(wrong == out + count, ErrorKind::data, where, "a bool of ", wrong == out + count ? 0 : static_cast<int>(*wrong),
        " - expected 0 or 1 - save the array again.");
}

void convert_halves(const std::byte* in, std::byte* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, in += sizeof(std::uint16_t), out += sizeof(float)) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, in, sizeof bits);
    const float value = std::bit_cast<Float16>(bits);
    std::memcpy(out, &value, sizeof value);
  }
}

template <class From> void convert_integers(const std::byte* in, std::byte* out, std::int64_t count,
                                            std::string_view where) {
  for (std::int64_t i = 0; i < count; ++i, in += sizeof(From), out += sizeof(std::int32_t)) {
    From value;
    std::memcpy(&value, in, sizeof value);
    const auto narrow = static_cast<std::int32_t>(value);
    check(static_cast<From>(narrow) == value, ErrorKind::data, where, "the number ", static_cast<std::int64_t>(value),
          " - expected the range of int32 - save the array as another type.");
    std::memcpy(out, &narrow, sizeof narrow);
  }
}

/// Sets the fields that the element type determines.
void set_element(NpyFormat& format, std::string_view descr, std::string_view where) {
  struct Known {
    std::string_view name;
    DType dtype;
    NpyElement element;
    std::size_t size;
  };
  constexpr Known known[]{
      {"f4", DType::float32, NpyElement::same, 4},    {"f8", DType::float64, NpyElement::same, 8},
      {"i4", DType::int32, NpyElement::same, 4},      {"u1", DType::uint8, NpyElement::same, 1},
      {"b1", DType::boolean, NpyElement::boolean, 1}, {"f2", DType::float32, NpyElement::float16, 2},
      {"i1", DType::int32, NpyElement::int8, 1},      {"i2", DType::int32, NpyElement::int16, 2},
      {"i8", DType::int32, NpyElement::int64, 8},     {"u2", DType::int32, NpyElement::uint16, 2}};
  const bool order = !descr.empty() && (descr.front() == '<' || (descr.front() == '|' && descr.ends_with('1')));
  for (const Known& type : known)
    if (order && descr.substr(1) == type.name) {
      format.dtype = type.dtype;
      format.element = type.element;
      format.element_size = type.size;
      return;
    }
  fail(ErrorKind::data, where, "elements of type \"", descr,
       "\" - expected little-endian f2, f4, f8, i1, i2, i4, i8, u1, u2 or b1 - save the array as one of them, such as "
       "by "
       "astype('float32').");
}

/// Parses the dictionary of a header, before `there` bytes of elements.
NpyFormat parse_dictionary(std::string_view text, std::uint64_t there, std::string_view where) {
  NpyFormat format;
  HeaderReader header(text, where);
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
  header.expect('{');
  while (!header.accept('}')) {
    const std::string_view key = header.string();
    header.expect(':');
    if (key == "descr" && !descr)
      descr = header.string();
    else if (key == "fortran_order" && !fortran_order)
      fortran_order = header.boolean();
    else if (key == "shape" && !shape)
      shape = header.tuple();
    else
      header.require(false, "an unknown or repeated entry");
    if (!header.accept(',')) {
      header.expect('}');
      break;
    }
  }
  header.end();
  header.require(descr && fortran_order && shape, "a header without \"descr\", \"fortran_order\" or \"shape\"");
  check(!*fortran_order, ErrorKind::data, where,
        "an array in Fortran order - expected C order - save numpy.ascontiguousarray(it).");
  set_element(format, *descr, where);
  format.shape = Shape(*shape);
  auto wanted = static_cast<double>(format.element_size);  // a double does not wrap around
  for (const std::int64_t extent : *shape) wanted *= static_cast<double>(extent);
  check(wanted == static_cast<double>(there), ErrorKind::data, where, there, " bytes of data for shape ", format.shape,
        " - expected ", wanted, " - the file is incomplete; get it again.");
  return format;
}

}  // namespace

NpyFormat read_npy_format(const NpyBytes& next, std::uint64_t size, std::string_view where) {
  std::string text;
  const auto extend = [&](std::size_t to) {
    const std::size_t before = text.size();
    text.resize(to);
    next(std::as_writable_bytes(std::span(text)).subspan(before));
  };
  extend(static_cast<std::size_t>(std::min<std::uint64_t>(size, 10)));
  const HeaderReader file({}, where);
  file.require(text.starts_with(magic) && text.size() == 10, "data without NumPy's magic number");
  const int version = text[6];
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  file.require(version >= 1 && version <= 3 && size >= 8 + length_bytes, "a version that is not 1, 2 or 3");
  extend(8 + length_bytes);
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(text[8 + i]);
  const std::uint64_t begin = std::uint64_t{8} + length_bytes + length;
  file.require(begin <= size, "a header longer than the file");
  extend(static_cast<std::size_t>(begin));
  NpyFormat format = parse_dictionary(std::string_view(text).substr(8 + length_bytes), size - begin, where);
  format.begin = static_cast<std::size_t>(begin);
  return format;
}

void NpyFormat::convert(const std::byte* in, std::int64_t count, std::byte* out, std::string_view where) const {
  switch (element) {
    case NpyElement::same:
      if (count) std::memcpy(out, in, static_cast<std::size_t>(count) * element_size);
      return;
    case NpyElement::boolean: return copy_booleans(in, out, count, where);
    case NpyElement::float16: return convert_halves(in, out, count);
    case NpyElement::int8: return convert_integers<std::int8_t>(in, out, count, where);
    case NpyElement::int16: return convert_integers<std::int16_t>(in, out, count, where);
    case NpyElement::int64: return convert_integers<std::int64_t>(in, out, count, where);
    case NpyElement::uint16: return convert_integers<std::uint16_t>(in, out, count, where);
  }
}

Tensor read_npy_elements(const NpyFormat& format, const NpyBytes& next, std::string_view where) {
  Tensor result = Tensor::uninitialized(format.shape, format.dtype);
  if (format.element == NpyElement::same) {
    next({result.raw(), result.bytes()});
    return result;
  }
  constexpr std::int64_t most = std::int64_t{1} << 15;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(most, result.size())) * format.element_size);
  for (std::int64_t done = 0; done < result.size(); done += most) {
    const std::int64_t count = std::min(most, result.size() - done);
    next(std::span(buffer).first(static_cast<std::size_t>(count) * format.element_size));
    format.convert(buffer.data(), count, result.raw() + static_cast<std::size_t>(done) * size_of(format.dtype), where);
  }
  return result;
}

}  // namespace etude
