#pragma once

#include <string_view>

namespace etude {

/// Whether the text is well-formed UTF-8, as JSON demands: no surrogates, no overlong encodings. Source: The Unicode
/// Standard, table 3-7.
bool is_utf8(std::string_view text);

}  // namespace etude
