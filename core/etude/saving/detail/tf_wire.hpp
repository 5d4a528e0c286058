#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etude {

/// Takes a number of seven bits a byte from the beginning of `rest`. False if it is longer than ten bytes or not
/// complete.
bool take_varint(std::string_view& rest, std::uint64_t& number);
/// A little-endian number of four or eight bytes.
std::uint64_t little_endian(std::string_view bytes);

/// Reads the fields of a message of Protocol Buffers one after the other.
class WireReader {
 public:
  /// `where` is the prefix of errors.
  WireReader(std::string_view message, std::string_view where) : rest_(message), where_(where) {}

  /// Whether there is another field, which is read. Throws Error(data) for a damaged message.
  bool next();
  /// The field's number.
  std::uint64_t field() const { return field_; }
  /// The value of a number; 0 for a text.
  std::uint64_t number() const { return number_; }
  /// The value of a text or of a message; empty for a number.
  std::string_view text() const { return text_; }

 private:
  std::string_view rest_, where_, text_;
  std::uint64_t field_ = 0, number_ = 0;
};

}  // namespace etude
