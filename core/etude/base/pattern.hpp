#pragma once

#include <string>

namespace etude {

/// Whether `pattern`, a regular expression of ECMAScript, is found somewhere in `text`, as Python's re.search finds it.
/// Throws std::invalid_argument with the reason if it is no regular expression.
using PatternSearch = bool (*)(const std::string& pattern, const std::string& text);

/// Who looks: std::regex; where JavaScript is the host, its own, for the standard library's would be a tenth of the
/// module. Null where there is neither.
PatternSearch& host_search();

}  // namespace etude
