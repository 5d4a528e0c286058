#include "etude/classes/class_table.hpp"

#include <algorithm>

#include "etude/base/detail/canonical_name.hpp"
#include "etude/base/error.hpp"

namespace etude {

std::vector<std::string> names_of(const ClassEntry& entry) {
  std::vector<std::string> names{entry.factory};
  for (std::string_view rest = entry.aliases; !rest.empty();) {
    const std::string_view alias = rest.substr(0, rest.find(' '));
    names.emplace_back(alias);
    rest.remove_prefix(std::min(alias.size() + 1, rest.size()));
  }
  return names;
}

ClassTable::ClassTable(const char* kind, std::span<const ClassEntry* const> entries)
    : kind_(kind), entries_(entries.begin(), entries.end()) {
  for (const ClassEntry* entry : entries_) {
    by_class_.emplace(entry->class_name, entry);
    for (const std::string& name : names_of(*entry))  // "Convolution2D" is a class's name, "mse" is not
      if (name.front() >= 'A' && name.front() <= 'Z') by_class_.emplace(name, entry);
    if (std::ranges::any_of(entry->fields, &Field::required)) continue;  // a name does not suffice to create an object
    by_name_.emplace(canonical_name(entry->class_name), entry);
    for (const std::string& name : names_of(*entry)) by_name_.emplace(canonical_name(name), entry);
  }
}

const ClassEntry& ClassTable::of_class(std::string_view class_name) const {
  const auto found = by_class_.find(class_name);
  if (found != by_class_.end()) return *found->second;
  std::string known;
  for (const auto& [name, entry] : by_class_) known.append(known.empty() ? "" : ", ").append(name);
  fail(ErrorKind::value, kind_, "class \"", class_name, "\" - expected one of: ", known,
       " - create objects of other classes in code.");
}

const ClassEntry& ClassTable::named(std::string_view name) const {
  const auto found = by_name_.find(canonical_name(name));
  if (found != by_name_.end()) return *found->second;
  std::string known;
  for (const ClassEntry* entry : entries_)
    for (const std::string& each : names_of(*entry))
      if (by_name_.contains(canonical_name(each))) known.append(known.empty() ? "" : ", ").append(each);
  fail(ErrorKind::value, kind_, '"', name, "\" - expected one of: ", known,
       " - choose one of them, or pass an object.");
}

}  // namespace etude
