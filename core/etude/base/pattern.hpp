#pragma once

#include <string>

namespace etude {

/// Whether `pattern`, a regular expression of ECMAScript, matches anywhere in `text`, as in Python's re.search. Throws
/// std::invalid_argument with the reason if it is no regular expression.
using PatternSearch = bool (*)(const std::string& pattern, const std::string& text);

/// The implementation: std::regex, or JavaScript's own on a JavaScript host, since the standard library's would be a
/// tenth of the module. Null without either.
PatternSearch& host_search();

}  // namespace etude
