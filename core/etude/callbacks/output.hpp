#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/messages.hpp"
#include "etude/base/number.hpp"

namespace etude {

/// {"epoch": 0, "loss": 0.5}. What is not finite, JSON only knows as null.
std::string json_object(const std::vector<std::pair<std::string, double>>& values);
/// A text as JSON quotes it.
std::string json_string(std::string_view text);
/// A number as JSON spells it.
std::string json_number(double number);

}  // namespace etude
