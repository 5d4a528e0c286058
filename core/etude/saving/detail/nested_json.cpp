#include "etude/saving/detail/nested_json.hpp"

#include <algorithm>

#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/base/nesting.hpp"

namespace etude {
namespace {

/// More elements than a list of tensors has; an index may be a name that a user wrote.
constexpr std::ptrdiff_t list_limit = 100'000;

void add_leaves(const Json& json, const std::string& path, bool (*is_leaf)(const Json&), Leaves& leaves) {
  if (!json.is_structured() || json.empty() || is_leaf(json)) {
    leaves.paths.push_back(path);
    leaves.values.push_back(&json);
    return;
  }
  const std::string before = path.empty() ? "" : path + '/';
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) add_leaves(json[i], before + std::to_string(i), is_leaf, leaves);
    return;
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  heap_sort(keys);
  for (const std::string& key : keys) add_leaves(json[key], before + part_of_key(key), is_leaf, leaves);
}

/// Whether `path` begins with another path, or uses a key at a place where another path uses an index of a list.
bool is_within_any(std::string_view path, std::span<const std::string> paths) {
  return std::ranges::any_of(paths, [&](std::string_view other) {
    const auto [end, end_of_other] = std::ranges::mismatch(path, other);
    if (end == path.end()) return false;
    if (end_of_other == other.end()) return *end == '/';
    const auto part_in = [](std::string_view text, std::size_t at) {
      const std::size_t begin = at ? text.rfind('/', at - 1) + 1 : 0;
      return text.substr(begin, text.find('/', at) - begin);
    };
    const auto at = static_cast<std::size_t>(end - path.begin());
    return index_of_part(part_in(path, at)) < 0 && index_of_part(part_in(other, at)) >= 0;
  });
}

}  // namespace

bool Leaves::listed() const {
  return std::ranges::all_of(paths, [](const std::string& path) { return path.empty() || index_of_part(path) >= 0; });
}

Leaves leaves_of(const Json& json, bool (*is_leaf)(const Json&)) {
  Leaves leaves;
  add_leaves(json, "", is_leaf, leaves);
  return leaves;
}

Json nested(std::span<const std::string> paths, Json leaves) {
  Json result;
  if (std::ranges::any_of(paths, [&](const std::string& path) { return is_within_any(path, paths); })) {
    for (std::size_t i = 0; i < paths.size(); ++i) result[paths[i]] = std::move(leaves[i]);
    return result;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Json* at = &result;
    for_each_part(paths[i], [&](std::string_view part) {
      const std::ptrdiff_t index = index_of_part(part);
      const bool fits = at->is_null() || (index < 0 ? at->is_object() : at->is_array());
      check(fits && index < list_limit, ErrorKind::value, "to_json", '"', paths[i],
            "\" among other names - expected paths in nested lists and dicts, such as \"boxes/0\" - check the names.");
      at = index < 0 ? &(*at)[key_of_part(part)] : &(*at)[static_cast<std::size_t>(index)];
    });
    check(at->is_null(), ErrorKind::value, "to_json", '"', paths[i],
          "\" twice, or around other names - expected the path of a tensor - check the names.");
    *at = std::move(leaves[i]);
  }
  return result;
}

}  // namespace etude
