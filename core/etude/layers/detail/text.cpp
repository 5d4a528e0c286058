#include "etude/layers/detail/text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"

namespace etude::text {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_punctuation(char c) { return c > ' ' && c < '\x7f' && !is_letter_or_digit(c); }

/// A character's bytes, as far as they are well-formed. Source: The Unicode Standard, table 3-7.
struct Character {
  std::size_t bytes;
  bool whole;
};

Character character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t size = first < 0x80                     ? 1
                           : first >= 0xc2 && first <= 0xdf ? 2
                           : first >= 0xe0 && first <= 0xef ? 3
                           : first >= 0xf0 && first <= 0xf4 ? 4
                                                            : 0;
  if (size == 0) return {1, false};
  for (std::size_t i = 1; i < size; ++i) {
    // The second byte excludes overlong forms, surrogates and numbers beyond U+10FFFF.
    const unsigned low = i > 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = i > 1 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (i >= text.size() || byte(i) < low || byte(i) > high) return {i, false};
  }
  return {size, true};
}

}  // namespace

void check_encoding(const std::string& encoding, const std::string& where) {
  check(encoding == "utf-8", ErrorKind::value, where, "encoding = \"", encoding,
        "\" - expected \"utf-8\" - leave encoding out.");
}

Tokens rows_of(const Strings& x) {
  const std::size_t rank = x.shape().rank();
  const auto columns = static_cast<std::ptrdiff_t>(rank ? x.shape()[-1] : 1);
  Tokens result{rank ? x.shape().slice(0, rank - 1) : Shape{}, {}, static_cast<std::size_t>(columns)};
  auto next = x.texts().begin();
  for (std::int64_t row = 0; row < result.lead.size(); ++row, next += columns)
    result.rows.emplace_back(next, next + columns);
  return result;
}

std::string lowered(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string without_punctuation(std::string text) {
  std::erase_if(text, is_punctuation);
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (auto at = text.begin();;) {
    const auto begin = std::find_if_not(at, text.end(), is_space);
    if (begin == text.end()) return words;
    at = std::find_if(begin, text.end(), is_space);
    words.emplace_back(begin, at);
  }
}

std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> characters;
  for (std::string_view rest = text; !rest.empty();) {
    const auto [bytes, whole] = character_at(rest);
    characters.emplace_back(whole ? rest.substr(0, bytes) : "\xef\xbf\xbd");
    rest.remove_prefix(bytes);
  }
  return characters;
}

std::vector<std::string> ngrams_of(std::span<const std::string> tokens, std::span<const std::int64_t> sizes) {
  std::vector<std::string> result;
  for (const std::int64_t given : sizes) {
    const auto size = static_cast<std::size_t>(given);
    for (std::size_t i = 0; size <= tokens.size() && i <= tokens.size() - size; ++i) {
      std::string& ngram = result.emplace_back(tokens[i]);
      for (std::size_t j = 1; j < size; ++j) ngram.append(1, ' ').append(tokens[i + j]);
    }
  }
  return result;
}

}  // namespace etude::text
