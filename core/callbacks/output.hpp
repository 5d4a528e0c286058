#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/messages.hpp"

namespace etude {

/// A number in the fewest digits that read back as the same, in Python's spelling: 0.1, 2.0, 1e-05, nan, inf.
std::string shortest(double number);
/// {"epoch": 0, "loss": 0.5}. What is not finite, JSON only knows as null.
std::string json_object(const std::vector<std::pair<std::string, double>>& values);
/// A text as JSON quotes it.
std::string json_string(std::string_view text);
/// A number as JSON spells it.
std::string json_number(double number);

}  // namespace etude
