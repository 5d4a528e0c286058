#include "bind.hpp"

#include <algorithm>

namespace etude::js {

Header::Header(std::string_view text) {
  const std::size_t open = text.find('(');
  name_ = text.substr(0, open);
  if (open == text.npos) {
    // A property: what is assigned to it has its name.
    arguments_ = {name_.substr(name_.rfind('.') + 1)};
    optional_ = {false};
    property_ = true;
    return;
  }
  std::istringstream arguments(std::string(text.substr(open + 1, text.size() - open - 2)));
  for (std::string argument; std::getline(arguments >> std::ws, argument, ',');) {
    optional_.push_back(argument.ends_with('?'));
    if (optional_.back()) argument.pop_back();
    arguments_.push_back(camel_case(argument));
  }
}

std::string Header::javascript(bool of_class) const {
  std::string name = camel_case(name_);
  const std::size_t dot = name.find('.');
  if (of_class)
    name = name.substr(dot + 1);
  else if (dot != name.npos)
    name[dot] = '_';
  if (property_) return name;
  name += '(';
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    name += (i ? ", " : "") + arguments_[i] + (optional_[i] ? "?" : "");
  return name + ')';
}

void check_options(const val& object, const Where& where, const std::vector<std::string>& names) {
  if (type_of(object) != "object" || object.isArray())
    where.wrong(object, "an object of options", "pass one such as {" + names.front() + ": …}");
  for (const std::string& key : keys(object)) {
    if (std::ranges::find(names, key) != names.end()) continue;
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    fail(ErrorKind::value, where.function, "unknown option \"", key, "\" - expected some of: ", known,
         " - check its spelling.");
  }
}

std::map<std::string, std::string>& declarations() {
  static std::map<std::string, std::string> result;
  return result;
}

}  // namespace etude::js
