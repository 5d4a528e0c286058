#include "etude/base/error.hpp"

#include "etude/base/detail/number.hpp"

namespace etude {

void append_text(std::string& text, char part) { text += part; }
void append_text(std::string& text, std::string_view part) { text += part; }
void append_text(std::string& text, std::int64_t part) { text += std::to_string(part); }
void append_text(std::string& text, std::uint64_t part) { text += std::to_string(part); }
void append_text(std::string& text, double part) { text += formatted("%g", part); }

void throw_error(ErrorKind kind, std::string_view where, std::initializer_list<TextPart> parts) {
  std::string text = "[";
  text.append(where).append("] ");
  for (const TextPart& part : parts) part.append_to(text);
  throw Error(kind, text);
}

}  // namespace etude
