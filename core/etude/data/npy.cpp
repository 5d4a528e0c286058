#include "etude/data/npy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/detail/mapped_file.hpp"
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

void widen_halves(const std::byte* in, std::byte* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, in += sizeof(std::uint16_t), out += sizeof(float)) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, in, sizeof bits);
    const float value = std::bit_cast<Float16>(bits);
    std::memcpy(out, &value, sizeof value);
  }
}

template <class From> void widen(const std::byte* in, std::byte* out, std::int64_t count, std::string_view where) {
  for (std::int64_t i = 0; i < count; ++i, in += sizeof(From), out += sizeof(std::int32_t)) {
    From value;
    std::memcpy(&value, in, sizeof value);
    const auto narrow = static_cast<std::int32_t>(value);
    check(static_cast<From>(narrow) == value, ErrorKind::data, where, "the number ", static_cast<std::int64_t>(value),
          " - expected the range of int32 - save the array as another type.");
    std::memcpy(out, &narrow, sizeof narrow);
  }
}

}  // namespace

NpyFile::NpyFile(const std::string& path) : NpyFile(map_file(path), path) {}

NpyFile::NpyFile(std::shared_ptr<const std::span<const std::byte>> bytes, std::string where)
    : bytes_(std::move(bytes)), where_(std::move(where)) {
  parse_header();
}

void NpyFile::parse_header() {
  // A copy of the bytes that are parsed.
  std::string text(std::min<std::size_t>(bytes_->size(), 12), '\0');
  const auto copy = [&](std::size_t size) {
    text.resize(size);
    read_mapped(where_, [&] { std::memcpy(text.data(), bytes_->data(), size); });
  };
  copy(text.size());
  const HeaderReader file({}, where_);
  file.require(text.starts_with(magic) && text.size() >= 10, "data without NumPy's magic number");
  const int version = text[6];
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  file.require(version >= 1 && version <= 3 && text.size() >= 8 + length_bytes, "a version that is not 1, 2 or 3");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(text[8 + i]);
  begin_ = 8 + length_bytes + length;
  file.require(length <= bytes_->size() && begin_ <= bytes_->size(), "a header longer than the file");
  copy(begin_);

  HeaderReader header(std::string_view(text).substr(8 + length_bytes), where_);
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
  check(!*fortran_order, ErrorKind::data, where_,
        "an array in Fortran order - expected C order - save numpy.ascontiguousarray(it).");
  parse_element(*descr);
  shape_ = Shape(*shape);
  auto wanted = static_cast<double>(element_size_);  // a double does not wrap around
  for (const std::int64_t extent : *shape) wanted *= static_cast<double>(extent);
  const std::size_t there = bytes_->size() - begin_;
  check(wanted == static_cast<double>(there), ErrorKind::data, where_, there, " bytes of data for shape ", shape_,
        " - expected ", wanted, " - the file is incomplete; get it again.");
}

void NpyFile::parse_element(std::string_view descr) {
  struct Known {
    std::string_view name;
    DType dtype;
    Element element;
    std::size_t size;
  };
  constexpr Known known[]{{"f4", DType::float32, Element::same, 4},    {"f8", DType::float64, Element::same, 8},
                          {"i4", DType::int32, Element::same, 4},      {"u1", DType::uint8, Element::same, 1},
                          {"b1", DType::boolean, Element::boolean, 1}, {"f2", DType::float32, Element::float16, 2},
                          {"i1", DType::int32, Element::int8, 1},      {"i2", DType::int32, Element::int16, 2},
                          {"i8", DType::int32, Element::int64, 8},     {"u2", DType::int32, Element::uint16, 2}};
  const bool order = !descr.empty() && (descr.front() == '<' || (descr.front() == '|' && descr.ends_with('1')));
  for (const Known& type : known)
    if (order && descr.substr(1) == type.name) {
      dtype_ = type.dtype;
      element_ = type.element;
      element_size_ = type.size;
      return;
    }
  fail(ErrorKind::data, where_, "elements of type \"", descr,
       "\" - expected little-endian f2, f4, f8, i1, i2, i4, i8, u1, u2 or b1 - save the array as one of them, such as "
       "by "
       "astype('float32').");
}

void NpyFile::read(std::int64_t first, std::int64_t last, std::byte* out) const {
  check(first >= 0 && first <= last && shape_.rank() > 0 && last <= rows(), ErrorKind::shape, where_, "rows ", first,
        " to ", last, " of shape ", shape_, " - expected existing rows - check the range.");
  const std::int64_t each = shape_.slice(1, shape_.rank()).size(), count = (last - first) * each;
  const std::byte* in = bytes_->data() + begin_ + static_cast<std::size_t>(first * each) * element_size_;
  read_mapped(where_, [&] { convert(in, count, out); });
}

void NpyFile::convert(const std::byte* in, std::int64_t count, std::byte* out) const {
  switch (element_) {
    case Element::same:
      if (count) std::memcpy(out, in, static_cast<std::size_t>(count) * element_size_);
      return;
    case Element::boolean: return copy_booleans(in, out, count, where_);
    case Element::float16: return widen_halves(in, out, count);
    case Element::int8: return widen<std::int8_t>(in, out, count, where_);
    case Element::int16: return widen<std::int16_t>(in, out, count, where_);
    case Element::int64: return widen<std::int64_t>(in, out, count, where_);
    case Element::uint16: return widen<std::uint16_t>(in, out, count, where_);
  }
}

Tensor NpyFile::all() const {
  Tensor result(shape_, dtype_);
  read_mapped(where_, [&] { convert(bytes_->data() + begin_, result.size(), result.raw()); });
  return result;
}

Tensor read_npy(const std::string& path) { return NpyFile(path).all(); }

Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where) {
  const auto borrowed = std::make_shared<const std::span<const std::byte>>(bytes);
  return NpyFile(borrowed, std::string(where)).all();
}

}  // namespace etude
