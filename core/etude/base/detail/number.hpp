#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Conversions between numbers and text, the same on all targets and in every locale: the decimal point is always ".",
/// regardless of setlocale().
namespace etude {

/// `number` in the format of printf in the C locale. `format` has one conversion, of a double: "%.4f", "%8.3e", "%g s".
/// NaN has no sign.
std::string formatted(const char* format, double number);

/// A number in the fewest digits that restore it when read, in Python's notation: 0.1, 2.0, 1e-05, nan, inf.
std::string shortest(double number);

/// The number nearest to a decimal text such as "-1.5e-3": an optional sign, digits with or without a point, an
/// optional exponent, and nothing else. Numbers out of range become infinite or 0. Empty for other texts.
std::optional<double> parse_double(std::string_view text);
/// The same for a float, with one rounding.
std::optional<float> parse_float(std::string_view text);

}  // namespace etude
