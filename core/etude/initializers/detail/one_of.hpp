#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "etude/base/error.hpp"

namespace etude::initializers {

/// Throws Error(value), listing the names, unless `name` is one of them.
inline void check_one_of(const char* where, const char* option, std::string_view name,
                         std::initializer_list<std::string_view> names) {
  if (std::ranges::find(names, name) != names.end()) return;
  std::string known;
  for (const std::string_view each : names) known.append(known.empty() ? "\"" : ", \"").append(each).append("\"");
  fail(ErrorKind::value, where, option, " = \"", name, "\" - expected one of: ", known, " - choose one.");
}

}  // namespace etude::initializers
