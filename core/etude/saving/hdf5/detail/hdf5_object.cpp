#include "etude/saving/hdf5/detail/hdf5_object.hpp"

#include <algorithm>

namespace etude::hdf5 {

ObjectHeader::ObjectHeader(File& file, std::uint64_t address) : file_(&file), address_(address) {
  file.begin_walk();
  const std::vector<std::byte> begin = file.begin_of(address, 4);
  const bool second = Bytes(file, address, begin).begins("OHDR");
  std::vector<Bytes> waiting{second ? first_of_version_2(file) : first_of_version_1(file)};
  constexpr unsigned is_shared = 2;
  while (!waiting.empty()) {
    Bytes bytes = waiting.back();
    waiting.pop_back();
    while (bytes.left() >= before_data_) {
      const std::uint64_t type = bytes.number(second ? 1 : 2), size = bytes.number(2), flags = bytes.number(1);
      bytes.skip(before_data_ - (second ? 4 : 5));
      Bytes data = bytes.part(size);
      if (type == static_cast<std::uint64_t>(MessageType::continuation)) {
        const std::uint64_t at = data.address(), length = data.number(8);
        waiting.push_back(block_of(file, at, length));
      } else if (type && type <= static_cast<std::uint64_t>(MessageType::attribute_info)) {
        messages_.push_back({static_cast<MessageType>(type), (flags & is_shared) != 0, data});
      }
    }
  }
}

Bytes ObjectHeader::first_of_version_1(File& file) {
  constexpr std::size_t prefix = 16;
  const std::vector<std::byte> begin = file.begin_of(address_, prefix);
  Bytes bytes(file, address_, begin);
  bytes.require(bytes.number(1) == 1, "no object", "the header of one");
  bytes.skip(7);  // reserved, the number of messages, the number of links
  blocks_.push_back(file.structure(address_, prefix + bytes.number(4), address_));
  Bytes block(file, address_, blocks_.back());
  block.skip(prefix);
  return block;
}

Bytes ObjectHeader::first_of_version_2(File& file) {
  constexpr std::size_t longest = 34, checksum = 4;
  const std::vector<std::byte> begin = file.begin_of(address_, longest);
  Bytes bytes(file, address_, begin);
  bytes.expect("OHDR");
  bytes.require(bytes.number(1) == 2, "an unknown version of a header", "2");
  const std::uint64_t flags = bytes.number(1);
  if (flags & 0x20) bytes.skip(16);  // times
  if (flags & 0x10) bytes.skip(4);   // the numbers of attributes from which on they are stored elsewhere
  before_data_ = flags & 4 ? 6 : 4;
  const std::uint64_t size = bytes.number(std::size_t{1} << (flags & 3)), prefix = bytes.at() - address_;
  bytes.require(size < file.end(), "a header that is larger than the file", "a smaller one");
  blocks_.push_back(file.structure(address_, prefix + size + checksum, address_));
  verify_checksum(file, address_, blocks_.back());
  Bytes block(file, address_, blocks_.back());
  block.skip(prefix);
  return block.part(size);
}

Bytes ObjectHeader::block_of(File& file, std::uint64_t at, std::uint64_t size) {
  constexpr std::size_t checksum = 4;
  blocks_.push_back(file.structure(at, size, address_));
  Bytes block(file, at, blocks_.back());
  if (before_data_ == 8) return block;
  verify_checksum(file, at, blocks_.back());
  block.expect("OCHK");
  block.require(block.left() >= checksum, "a structure that is cut off", "more bytes");
  return block.part(block.left() - checksum);
}

bool ObjectHeader::has(MessageType type) const {
  return std::ranges::find(messages_, type, &Message::type) != messages_.end();
}

std::optional<Bytes> ObjectHeader::find(MessageType type) const {
  std::optional<Bytes> found;
  for (const Message& message : messages_) {
    if (message.type != type) continue;
    message.bytes.require(!found, "two descriptions of the same thing", "one");
    if (message.shared) file_->refuse(message.bytes.at(), "a description that objects share", "one for each object");
    found = message.bytes;
  }
  return found;
}

Bytes ObjectHeader::at(MessageType type) const {
  const std::optional<Bytes> found = find(type);
  file_->require(found.has_value(), address_, "an object whose description lacks a part", "shape, type and layout");
  return *found;
}

bool ObjectHeader::is_group() const {
  return has(MessageType::symbol_table) || has(MessageType::link_info) || has(MessageType::group_info) ||
         has(MessageType::link);
}

}  // namespace etude::hdf5
