#include "etude/base/nesting.hpp"

#include <algorithm>
#include <vector>

#include "etude/base/error.hpp"

namespace etude {
namespace {

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for_each_part(path, [&](std::string_view part) { parts.push_back(part); });
  return parts;
}

/// Whether a "~" at this place of a part stands for another character, or, in a key, would be taken for that.
bool is_escape(std::string_view text, std::size_t at) {
  return text[at] == '~' && at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '2';
}

}  // namespace

std::ptrdiff_t index_of_part(std::string_view part) {
  if (part.empty() || part.size() > 6 || (part.size() > 1 && part[0] == '0')) return -1;
  std::ptrdiff_t index = 0;
  for (const char c : part) {
    if (c < '0' || c > '9') return -1;
    index = index * 10 + (c - '0');
  }
  return index;
}

std::string key_of_part(std::string_view part) {
  std::string key;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!is_escape(part, i)) {
      key += part[i];
      continue;
    }
    const char escaped = part[++i];
    if (escaped != '2') key += escaped == '0' ? '~' : '/';
  }
  return key;
}

std::string part_of_key(std::string_view key) {
  std::string part = key.empty() || index_of_part(key) >= 0 ? "~2" : "";
  for (std::size_t i = 0; i < key.size(); ++i)
    if (key[i] == '/')
      part += "~1";
    else if (is_escape(key, i))
      part += "~0";
    else
      part += key[i];
  return part;
}

std::string plain_path(std::string_view path) {
  std::string plain;
  for_each_part(path, [&](std::string_view part) { plain += key_of_part(part) + '/'; });
  plain.pop_back();
  return plain;
}

bool PathOrder::operator()(std::string_view a, std::string_view b) const {
  return std::ranges::lexicographical_compare(parts_of(a), parts_of(b), [](std::string_view x, std::string_view y) {
    const std::ptrdiff_t first = index_of_part(x), second = index_of_part(y);
    if (first >= 0 || second >= 0) return first >= 0 && (second < 0 || first < second);
    return key_of_part(x) < key_of_part(y);
  });
}

std::ptrdiff_t place_of(std::string_view path, std::span<const std::string> names) {
  auto found = std::ranges::find(names, path);
  if (found == names.end()) found = std::ranges::find(names, plain_path(path));  // the "/" of a layer's name
  return found == names.end() ? -1 : found - names.begin();
}

void check_paths(std::span<const std::string> paths, std::string_view where) {
  std::vector<std::string_view> before;
  for (const std::string& path : paths) {
    const std::vector<std::string_view> parts = parts_of(path);
    std::size_t at = 0;  // the first part that differs
    while (at < std::min(parts.size(), before.size()) && parts[at] == before[at]) ++at;
    const bool is_first = before.empty();
    std::ptrdiff_t wanted = -1;  // the index of the next element, if the structure is a list
    bool fits = is_first || (at < parts.size() && at < before.size());
    if (fits && !is_first) {
      const std::ptrdiff_t last = index_of_part(before[at]);
      wanted = last < 0 ? -1 : last + 1;
      fits = index_of_part(parts[at]) == wanted;
    }
    for (std::size_t i = is_first ? 0 : at + 1; fits && i < parts.size(); ++i) fits = index_of_part(parts[i]) <= 0;
    check(fits, ErrorKind::value, where, '"', path,
          "\" among the names of nested lists and dicts - expected the path "
          "of another tensor, such as \"meta/age\" or \"boxes/0\", and every index of a list from 0 on - check the "
          "names.");
    before = parts;
  }
}

}  // namespace etude
