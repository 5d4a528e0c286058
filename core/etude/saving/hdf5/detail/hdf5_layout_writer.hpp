#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etude/base/shape.hpp"
#include "etude/saving/hdf5/detail/hdf5_types.hpp"

namespace etude::hdf5 {

/// An attribute of texts.
struct WrittenAttribute {
  std::string name;
  std::vector<std::string> values;
  /// Whether it is a list; otherwise it has one text.
  bool list;
};

/// A group, or a dataset.
struct WrittenNode {
  /// Of a group: its members, in the order of their bytes.
  std::map<std::string, std::unique_ptr<WrittenNode>, std::less<>> members = {};
  std::vector<WrittenAttribute> attributes = {};
  bool is_dataset = false;
  Number number = Number::float32;
  Shape shape = {};

  /// Bytes of a dataset, and of them with the padding behind.
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(shape.size()) * size_of(number); }
  std::uint64_t padded_bytes() const { return (bytes() + 7) / 8 * 8; }
};

/// The first part of a file: all descriptions. The data of the datasets follows, in this order, each padded to 8 bytes.
std::string head_of(const WrittenNode& root, std::span<WrittenNode* const> datasets);

}  // namespace etude::hdf5
