#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "etude/saving/hdf5/detail/hdf5_file.hpp"
#include "etude/saving/hdf5/detail/hdf5_types.hpp"

namespace etude::hdf5 {

/// The types of messages of object headers that are read.
enum class MessageType : std::uint8_t {
  dataspace = 0x01,
  link_info = 0x02,
  datatype = 0x03,
  link = 0x06,
  external_files = 0x07,
  layout = 0x08,
  group_info = 0x0A,
  filters = 0x0B,
  attribute = 0x0C,
  continuation = 0x10,
  symbol_table = 0x11,
  attribute_info = 0x15
};

struct Message {
  MessageType type;
  /// Stored elsewhere, which is not read.
  bool shared;
  Bytes bytes;
};

/// The header of an object: the messages that describe it. Versions 1 and 2.
class ObjectHeader {
 public:
  ObjectHeader(File& file, std::uint64_t address);
  ObjectHeader(ObjectHeader&&) = default;
  ObjectHeader& operator=(ObjectHeader&&) = default;

  std::uint64_t address() const { return address_; }
  const std::vector<Message>& messages() const { return messages_; }
  /// Whether there is a message of that type.
  bool has(MessageType type) const;
  /// The message of that type, or nothing. Throws Error(data) for two, and for one that is shared.
  std::optional<Bytes> find(MessageType type) const;
  /// The same; throws Error(data) for none.
  Bytes at(MessageType type) const;

  bool is_dataset() const { return has(MessageType::layout); }
  bool is_group() const;

 private:
  /// Reads the first block and returns its messages.
  Bytes first_of_version_1(File& file);
  Bytes first_of_version_2(File& file);
  /// Reads another block and returns its messages.
  Bytes block_of(File& file, std::uint64_t at, std::uint64_t size);

  const File* file_;
  std::uint64_t address_;
  /// Of a message: bytes before its data; 8 in version 1.
  std::size_t before_data_ = 8;
  std::vector<std::vector<std::byte>> blocks_;  // which the messages refer to
  std::vector<Message> messages_;
};

/// The classes of types that are read: numbers, texts of fixed and of variable length, and bytes without a meaning.
struct Type {
  enum class Kind : std::uint8_t { number, text, varying_text, opaque } kind;
  Number number = Number::uint8;
  bool big_endian = false;
  /// Bytes of an element in the file.
  std::uint64_t size = 1;
  /// Of a text: whether it is padded with spaces, not with NUL bytes.
  bool padded_with_spaces = false;
};

/// The type of a datatype message. Throws Error(data) for classes that are not read.
Type type_of(Bytes bytes);
/// The shape of a dataspace message; none for one without elements or extents. The product of the extents is checked.
std::optional<Shape> shape_of(Bytes bytes);
/// The pipeline of a filter message, in the order of writing.
std::vector<Filter> filters_of(Bytes bytes);

}  // namespace etude::hdf5
