#include "etude/classes/class_table.hpp"

#include <algorithm>

#include "etude/base/detail/canonical_name.hpp"
#include "etude/base/error.hpp"

namespace etude {
namespace {

const ClassEntry* find_in(const std::map<std::string, const ClassEntry*, std::less<>>& entries, std::string_view name) {
  const auto found = entries.find(name);
  return found == entries.end() ? nullptr : found->second;
}

CustomClasses of_other_language;

}  // namespace

void set_custom_classes(const CustomClasses& classes) { of_other_language = classes; }
const CustomClasses& custom_classes() { return of_other_language; }

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
    if (entry->has_required) continue;  // a name does not suffice to create an object
    by_name_.emplace(canonical_name(entry->class_name), entry);
    for (const std::string& name : names_of(*entry)) by_name_.emplace(canonical_name(name), entry);
  }
}

const ClassEntry* ClassTable::find(std::string_view class_name) const { return find_in(by_class_, class_name); }

const ClassEntry& ClassTable::of_class(std::string_view class_name) const {
  if (const ClassEntry* entry = find(class_name)) return *entry;
  std::string known;
  for (const auto& [name, entry] : by_class_) known.append(known.empty() ? "" : ", ").append(name);
  fail(ErrorKind::value, kind_, "class \"", class_name, "\" - expected one of: ", known,
       " - create objects of other classes in code.");
}

const ClassEntry& ClassTable::named(std::string_view name) const {
  const ClassEntry* entry = is_registered_name(name) ? registered(name) : find_in(by_name_, canonical_name(name));
  if (entry && !entry->has_required) return *entry;
  std::string known;
  for (const ClassEntry* each_entry : entries_)
    for (const std::string& each : names_of(*each_entry))
      if (by_name_.contains(canonical_name(each))) known.append(known.empty() ? "" : ", ").append(each);
  fail(ErrorKind::value, kind_, '"', name, "\" - expected one of: ", known,
       " - choose one of them, or pass an object.");
}

void ClassTable::add(const ClassEntry& entry, std::string_view package, std::string_view name) {
  for (const std::string_view part : {package, name})
    check(!part.empty() && !is_registered_name(part), ErrorKind::value, "register_class", '"', part, "\" for the ",
          kind_, " ", entry.class_name,
          " - expected a package and a name that are not empty and have no \">\" - change it.");
  check(!find(entry.class_name), ErrorKind::value, "register_class", "the ", kind_, " ", entry.class_name,
        " - expected a name that none of Étude's classes has - rename the class in its `about`.");
  std::string registered_name = std::string(package).append(">").append(name);
  const std::scoped_lock lock(mutex_);
  const ClassEntry* registered = registered_.emplace(registered_name, &entry).first->second;
  check(registered == &entry, ErrorKind::value, "register_class", "two classes of the name \"", registered_name,
        "\" - expected one - register the second under another package or name.");
  registered_names_[&entry] = std::move(registered_name);
}

const ClassEntry* ClassTable::registered(std::string_view registered_name) const {
  const std::scoped_lock lock(mutex_);
  return find_in(registered_, registered_name);
}

std::string ClassTable::registered_name(const ClassEntry& entry) const {
  const std::scoped_lock lock(mutex_);
  const auto found = registered_names_.find(&entry);
  return found == registered_names_.end() ? "" : found->second;
}

}  // namespace etude
