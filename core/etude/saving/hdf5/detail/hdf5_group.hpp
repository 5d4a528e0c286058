#pragma once

#include <functional>
#include <string>
#include <vector>

#include "etude/saving/hdf5/detail/hdf5_object.hpp"

namespace etude::hdf5 {

/// A name in a group, and the header of its object; `nowhere` for a link that is not followed: to a path, or to another
/// file.
struct Link {
  std::string name;
  std::uint64_t address;
};

/// The links of a group, by name. Throws Error(data) for names that are not unique, are empty, are longer than 4096
/// bytes, contain a slash, or are not UTF-8.
std::vector<Link> links_of(File& file, const ObjectHeader& group);

/// An attribute: its name, and the messages of its type and shape, and its bytes.
struct AttributeParts {
  std::string name;
  Bytes type, shape, data;
  /// Its type or shape is stored elsewhere, which is not read.
  bool shared;
};

/// Calls `visit` for each attribute of an object.
void visit_attributes(File& file, const ObjectHeader& object, const std::function<void(const AttributeParts&)>& visit);

}  // namespace etude::hdf5
