#pragma once

#include <string>
#include <string_view>

namespace etude {

/// The letters of a name, in lower case, and its digits. Names are equal, as in Keras, if these are: "mse" and "MSE",
/// "mean_squared_error" and "MeanSquaredError".
inline std::string canonical_name(std::string_view name) {
  std::string result;
  for (const char c : name)
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))
      result += c;
    else if (c >= 'A' && c <= 'Z')  // in every locale
      result += static_cast<char>(c - 'A' + 'a');
  return result;
}

}  // namespace etude
