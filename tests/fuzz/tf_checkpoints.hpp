#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/containers.hpp"

/// Checkpoints of TensorFlow, also damaged ones.
namespace etude::testing {

/// A number of seven bits a byte.
std::string varint(std::uint64_t number);
/// Fields of a message of Protocol Buffers.
std::string field(unsigned number, std::uint64_t value);
std::string field(unsigned number, std::string_view text);

using TfEntries = std::vector<std::pair<std::string, std::string>>;  // names and messages

/// A sorted table with one block of data for each list of entries. `compression` is the kind of the blocks of data.
std::string table_of(const std::vector<TfEntries>& blocks, char compression = 0);
/// The message of an entry: `type` is TensorFlow's number, `more` are further fields.
std::string entry_of(std::uint64_t type, const std::vector<std::uint64_t>& shape, std::uint64_t offset,
                     std::string_view bytes, const std::string& more = "");
/// The message of an entry with a text, and the bytes of the text in the file of data.
std::pair<std::string, std::string> text_entry(std::string_view text, std::uint64_t offset);
/// An object that has others under names.
std::string object_of(const std::vector<std::pair<std::string, std::uint64_t>>& children);
/// A variable whose value has a name.
std::string variable_of(const std::string& key);

/// The files of a checkpoint "ckpt" of one layer without a bias, whose kernel [2, 1] has the values 3 and 4. Tests
/// change its parts.
struct TfSample {
  TfSample();
  std::vector<std::string> objects;
  /// The entry of the kernel; the others are made of the objects.
  std::string kernel;
  std::string header = field(1, 1) + field(3, field(1, 1));
  char compression = 0;
  /// Entries after the kernel's.
  TfEntries more;

  PackedFiles files() const;
};

/// The same packed files with correct checksums, as far as they can be read.
std::string repaired_tf_checkpoint(const std::string& bytes);

}  // namespace etude::testing
