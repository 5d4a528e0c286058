#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Numbers as text and back, alike on all targets and in every locale: the point is always ".", whatever setlocale()
/// was told.
namespace etude {

/// `number` as printf writes it in the C locale. `format` has one conversion, of a double: "%.4f", "%8.3e", "%g s". NaN
/// has no sign.
std::string formatted(const char* format, double number);

/// A number in the fewest digits that read back as the same, in Python's spelling: 0.1, 2.0, 1e-05, nan, inf.
std::string shortest(double number);

/// The number nearest to a decimal text such as "-1.5e-3": a sign or none, digits with a point or without, an exponent
/// or none, and nothing else. What is too large is infinite, what is too small 0. Nothing for other texts.
std::optional<double> parse_double(std::string_view text);
/// The same, rounded once, to a float.
std::optional<float> parse_float(std::string_view text);

}  // namespace etude
