#pragma once

#include <string_view>

#include "etude/base/error.hpp"

namespace etude {

/// Whether data_format is "channels_first". Throws Error(value) unless it is that or "channels_last". `where` is the
/// layer's name in errors.
inline bool is_channels_first(std::string_view data_format, std::string_view where) {
  check(data_format == "channels_first" || data_format == "channels_last", ErrorKind::value, where, "data_format = \"",
        data_format, "\" - expected \"channels_last\" or \"channels_first\" - choose one.");
  return data_format == "channels_first";
}

}  // namespace etude
