#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Reads TensorBoard's event files without code of Étude: a test of correctness, not only of consistency.
namespace etude::testing {

/// A message of protocol buffers, by field numbers. Each value is a varint, or bytes.
struct ProtoMessage {
  struct Field {
    std::uint64_t integer = 0;
    std::string bytes;
  };
  std::map<unsigned, std::vector<Field>> fields;

  explicit ProtoMessage(std::string_view bytes);
  bool has(unsigned field) const { return fields.contains(field); }
  std::uint64_t integer(unsigned field) const { return fields.at(field).at(0).integer; }
  const std::string& bytes(unsigned field) const { return fields.at(field).at(0).bytes; }
  ProtoMessage message(unsigned field, std::size_t index = 0) const {
    return ProtoMessage(fields.at(field).at(index).bytes);
  }
};

/// A summary: a scalar, or a tensor's numbers in order.
struct Summary {
  std::string tag, plugin;
  std::int64_t step = 0;
  double wall_time = 0;
  std::vector<std::uint64_t> shape;
  std::vector<double> values;
};

/// The events of a file. Throws std::runtime_error with the reason for a wrong length or checksum, a file that does not
/// begin with its version, and trailing bytes.
std::vector<Summary> read_events(std::string_view file);

}  // namespace etude::testing
