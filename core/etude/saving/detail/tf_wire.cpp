#include "etude/saving/detail/tf_wire.hpp"

#include "etude/base/error.hpp"

namespace etude {

bool take_varint(std::string_view& rest, std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

bool WireReader::next() {
  if (rest_.empty()) return false;
  const auto damaged = [&] {
    fail(ErrorKind::data, where_, "a damaged message, ", rest_.size(),
         " bytes before its end - expected one of Protocol Buffers - copy the checkpoint again.");
  };
  std::uint64_t tag = 0;
  if (!take_varint(rest_, tag)) damaged();
  field_ = tag >> 3;
  number_ = 0;
  text_ = {};
  // The kinds of fields: 0 a number, 1 eight bytes, 2 a length and as many bytes, 5 four bytes.
  const std::uint64_t kind = tag & 7;
  std::uint64_t size = kind == 1 ? 8 : kind == 5 ? 4 : 0;
  if (kind == 0 || kind == 2) {
    std::uint64_t& value = kind == 0 ? number_ : size;
    if (!take_varint(rest_, value)) damaged();
  } else if (size == 0) {
    damaged();
  }
  if (size > rest_.size()) damaged();
  const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(bytes.size());
  if (kind == 2)
    text_ = bytes;
  else if (kind != 0)
    number_ = little_endian(bytes);
  return true;
}

}  // namespace etude
