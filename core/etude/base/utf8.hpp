#pragma once

#include <string_view>

namespace etude {

/// Whether the text is well-formed UTF-8, as JSON demands: no surrogates, nothing in more bytes than it needs. Source:
/// The Unicode Standard, table 3-7.
bool is_utf8(std::string_view text);

}  // namespace etude
