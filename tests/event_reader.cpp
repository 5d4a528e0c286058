#include "event_reader.hpp"

#include <cstring>
#include <stdexcept>

namespace etude::testing {
namespace {

[[noreturn]] void fail(const std::string& text) { throw std::runtime_error("event file: " + text); }

/// Removes `count` bytes from the front.
std::string_view take(std::string_view& bytes, std::size_t count) {
  if (bytes.size() < count) fail("ends too early");
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

template <class T> T number(std::string_view bytes) {
  T result;
  if (bytes.size() != sizeof result) fail("a number of another size");
  std::memcpy(&result, bytes.data(), sizeof result);  // both are little-endian
  return result;
}

std::uint64_t varint(std::string_view& bytes) {
  std::uint64_t result = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(bytes, 1)[0]);
    result |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return result;
  }
}

/// CRC-32C, bit by bit, by polynomial division.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t remainder = 0xFFFFFFFF;
  for (const char c : bytes) {
    remainder ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder & 1) ? (remainder >> 1) ^ 0x82F63B78u : remainder >> 1;
  }
  remainder = ~remainder;
  return ((remainder >> 15) | (remainder << 17)) + 0xA282EAD8u;
}

std::string_view checked(std::string_view& file, std::size_t size) {
  const std::string_view bytes = take(file, size);
  if (checksum(bytes) != number<std::uint32_t>(take(file, 4))) fail("a wrong checksum");
  return bytes;
}

Summary summary_of(const ProtoMessage& event) {
  constexpr std::uint64_t float32 = 1, float64 = 2;
  Summary result;
  result.wall_time = number<double>(event.bytes(1));
  result.step = static_cast<std::int64_t>(event.integer(2));
  const ProtoMessage value = event.message(5).message(1), tensor = value.message(8), metadata = value.message(9);
  result.tag = value.bytes(1);
  result.plugin = metadata.message(1).bytes(1);
  if (metadata.integer(4) != (result.plugin == "scalars" ? 1 : 2)) fail("another class of data");
  const ProtoMessage shape = tensor.message(2);
  if (shape.has(2))
    for (std::size_t i = 0; i < shape.fields.at(2).size(); ++i) result.shape.push_back(shape.message(2, i).integer(1));
  std::string_view content = tensor.bytes(4);
  while (!content.empty()) {
    if (tensor.integer(1) == float32)
      result.values.push_back(static_cast<double>(number<float>(take(content, 4))));
    else if (tensor.integer(1) == float64)
      result.values.push_back(number<double>(take(content, 8)));
    else
      fail("another dtype");
  }
  return result;
}

}  // namespace

ProtoMessage::ProtoMessage(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::uint64_t key = varint(bytes);
    Field field;
    switch (key & 7) {
      case 0: field.integer = varint(bytes); break;
      case 1: field.bytes = take(bytes, 8); break;
      case 2: field.bytes = take(bytes, static_cast<std::size_t>(varint(bytes))); break;
      case 5: field.bytes = take(bytes, 4); break;
      default: fail("an unknown kind of field");
    }
    fields[static_cast<unsigned>(key >> 3)].push_back(field);
  }
}

std::vector<Summary> read_events(std::string_view file) {
  std::vector<Summary> events;
  for (bool first = true; !file.empty(); first = false) {
    const auto length = static_cast<std::size_t>(number<std::uint64_t>(checked(file, 8)));
    const ProtoMessage event(checked(file, length));
    if (!first)
      events.push_back(summary_of(event));
    else if (event.bytes(3) != "brain.Event:2")
      fail("another version");
  }
  return events;
}

}  // namespace etude::testing
