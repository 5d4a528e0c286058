#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace etude {

// Nested lists and dicts of tensors are flat, with a name for each tensor: its path, the keys of dicts and the indices
// of lists on the way to it, separated by "/". The names of {"image": x, "meta": {"age": a, "sizes": [s, t]}} are
// "image", "meta/age", "meta/sizes/0" and "meta/sizes/1". In a key "/" is written "~1", as in a JSON pointer; a "~"
// before 0, 1 or 2 is written "~0", and a key that is empty or looks like an index begins with "~2". The names of a
// list of tensors are left out.

/// The order of the tensors in nested lists and dicts, by their paths: lists by index and dicts by key, as in Keras.
struct PathOrder {
  /// Whether `a` is before `b`.
  bool operator()(std::string_view a, std::string_view b) const;
};

/// The index of a list that a part of a path is; -1 for a key.
std::ptrdiff_t index_of_part(std::string_view part);
/// The key that a part of a path is.
std::string key_of_part(std::string_view part);
/// A key as a part of a path.
std::string part_of_key(std::string_view key);
/// Calls visit(part) for the parts of a path, from the outside to the inside.
template <class Visit> void for_each_part(std::string_view path, Visit&& visit) {
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = path.find('/');
    visit(path.substr(0, end));
    if (end != std::string_view::npos) path.remove_prefix(end + 1);
  }
}
/// A path for readers: its keys are as in the dicts.
std::string plain_path(std::string_view path);

/// The place of a path among those of a model's inputs or outputs, which may be names of layers; -1 if there is none.
std::ptrdiff_t place_of(std::string_view path, std::span<const std::string> names);

/// Throws Error(value) unless these are the paths of all tensors in nested lists and dicts, in PathOrder: of different
/// places, none of which is inside another, and with all indices of each list. `where` names what has them.
void check_paths(std::span<const std::string> paths, std::string_view where);

}  // namespace etude
