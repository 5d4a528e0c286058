#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "etude/base/strings.hpp"
#include "etude/layers/detail/vocabulary.hpp"

/// Functions of texts, as TensorFlow computes them: letters and whitespace are those of ASCII.
namespace etude::text {

/// Throws Error(value) unless it is "utf-8".
void check_encoding(const std::string& encoding, const std::string& where);

/// Its strings as tokens: the last axis has those of a sample. A scalar is one sample of one token.
Tokens rows_of(const Strings& x);

/// The text in lower case.
std::string lowered(std::string text);
/// The text without punctuation.
std::string without_punctuation(std::string text);
/// The words between whitespace.
std::vector<std::string> words_of(const std::string& text);
/// The characters of UTF-8. Bytes that are not valid UTF-8 become U+FFFD, one for each maximal part of a character.
std::vector<std::string> characters_of(const std::string& text);
/// For each size, all sequences of that many tokens, joined by spaces.
std::vector<std::string> ngrams_of(std::span<const std::string> tokens, std::span<const std::int64_t> sizes);

}  // namespace etude::text
