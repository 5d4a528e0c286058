#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/detail/number.hpp"
#include "etude/base/messages.hpp"

namespace etude {

/// {"epoch": 0, "loss": 0.5}. Values that are not finite become null, because JSON cannot represent them.
std::string json_object(const std::vector<std::pair<std::string, double>>& values);
/// A text as a JSON string.
std::string json_string(std::string_view text);
/// A number in JSON's format.
std::string json_number(double number);

}  // namespace etude
