#pragma once

/// Private to core/saving: nested objects and arrays of tensors or options as JSON, and their paths (base/nesting.hpp).
#include <span>
#include <string>
#include <vector>

#include "etude/saving/detail/json.hpp"

namespace etude {

/// The leaves in nested objects and arrays, in PathOrder, and their paths.
struct Leaves {
  std::vector<std::string> paths;
  std::vector<const Json*> values;

  /// Whether it is an array of leaves, or a leaf itself, whose paths do not matter.
  bool listed() const;
};
/// The leaves of `json`: all that is neither an object nor an array, and that for which is_leaf() is true.
Leaves leaves_of(const Json& json, bool (*is_leaf)(const Json&));
/// Objects and arrays that have these leaves at these paths; or one object, if these are names with a "/" that do not
/// form a structure. Throws Error(value) for the same path twice, and for a list of too many elements.
Json nested(std::span<const std::string> paths, Json leaves);

}  // namespace etude
