#include "etude/callbacks/output.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace etude {

std::string shortest(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char text[352];
  int digits = 0;
  do {
    std::snprintf(text, sizeof text, "%.*e", digits, number);
  } while (std::strtod(text, nullptr) != number && ++digits < 17);
  // Python writes 0.0001 … 9999999999999998.0 without an exponent.
  const std::string scientific = text;
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return scientific;
  const int decimals = digits - exponent;
  std::snprintf(text, sizeof text, "%.*f", decimals > 0 ? decimals : 1, number);
  return text;
}

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
  // Counts, such as epochs and bytes, are whole.
  char text[32];
  if (number == std::floor(number) && std::abs(number) < 0x1p53) {
    std::snprintf(text, sizeof text, "%.0f", number);
    return text;
  }
  return shortest(number);
}

std::string json_object(const std::vector<std::pair<std::string, double>>& values) {
  std::string result;
  for (const auto& [name, value] : values)
    result += (result.empty() ? "{" : ", ") + json_string(name) + ": " + json_number(value);
  return result.empty() ? "{}" : result + '}';
}

}  // namespace etude
