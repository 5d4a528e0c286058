#include "etude/callbacks/detail/output.hpp"

#include <cmath>
#include <cstdio>

namespace etude {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      result += code;
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + '"';
}

std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  // Counts, such as epochs and bytes, are integers.
  return number == std::floor(number) && std::abs(number) < 0x1p53 ? formatted("%.0f", number) : shortest(number);
}

std::string json_object(const std::vector<std::pair<std::string, double>>& values) {
  std::string result;
  for (const auto& [name, value] : values)
    result += (result.empty() ? "{" : ", ") + json_string(name) + ": " + json_number(value);
  return result.empty() ? "{}" : result + '}';
}

}  // namespace etude
