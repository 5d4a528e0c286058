#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace etude {

namespace detail {

constexpr bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_small(char c) { return c >= 'a' && c <= 'z'; }

/// Words begin at a capital before or after a small letter. "L1L2" is two words, as in Keras, where the function has
/// that name.
constexpr bool begins_word(std::string_view name, std::size_t i) {
  if (i == 0 || !is_capital(name[i])) return false;
  if (name == "L1L2") return true;
  const char before = name[i - 1], after = i + 1 < name.size() ? name[i + 1] : ' ';
  return is_small(before) || is_small(after);
}
constexpr std::size_t snake_case_size(std::string_view name) {
  std::size_t size = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) size += begins_word(name, i);
  return size;
}
constexpr void write_snake_case(std::string_view name, char* next) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (begins_word(name, i)) *next++ = '_';
    *next++ = is_capital(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
}

}  // namespace detail

/// "max_pooling2d" for MaxPooling2D. Source: to_snake_case in keras/src/utils/naming.py.
inline std::string snake_case(std::string_view class_name) {
  std::string name(detail::snake_case_size(class_name), ' ');
  detail::write_snake_case(class_name, name.data());
  return name;
}

}  // namespace etude
