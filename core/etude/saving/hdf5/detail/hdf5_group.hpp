#pragma once

#include <functional>
#include <map>
#include <string>

#include "etude/saving/hdf5/detail/hdf5_object.hpp"

namespace etude::hdf5 {

/// The names in a group, and the header of the object of each; `nowhere` for a link that is not followed: to a path, or
/// to another file.
using Links = std::map<std::string, std::uint64_t, std::less<>>;

/// The links of a group. Throws Error(data) for names that are not unique, are empty, are longer than 4096
/// bytes, contain a slash, or are not UTF-8.
Links links_of(File& file, const ObjectHeader& group);

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
