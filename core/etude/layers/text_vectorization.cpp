#include "etude/layers/text_vectorization.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/layers/detail/text.hpp"

namespace etude {

TextVectorization::TextVectorization(TextVectorizationOptions given)
    : VocabularyLayer(class_entry<TextVectorization>, std::move(given)) {
  const TextVectorizationOptions& o = options();
  const std::string& standardize = o.standardize.name();
  check(standardize.empty() || standardize == "lower_and_strip_punctuation" || standardize == "lower" ||
            standardize == "strip_punctuation",
        ErrorKind::value, where(), "standardize = \"", standardize,
        "\" - expected \"lower_and_strip_punctuation\", \"lower\", \"strip_punctuation\", a function or none - choose "
        "one.");
  check(o.split.name().empty() || o.split.name() == "whitespace" || o.split.name() == "character", ErrorKind::value,
        where(), "split = \"", o.split.name(),
        "\" - expected \"whitespace\", \"character\", a function or none - choose one.");
  check(o.output_mode == "int" || !o.output_sequence_length, ErrorKind::value, where(),
        "output_sequence_length with output_mode = \"", o.output_mode,
        "\" - expected \"int\" - leave one of them out.");
  check(o.output_sequence_length.value_or(1) > 0 && o.output_sequence_length.value_or(1) < (std::int64_t{1} << 31),
        ErrorKind::value, where(), "output_sequence_length = ", o.output_sequence_length.value_or(1),
        " - expected 1 or more, and less than 2^31 - set output_sequence_length.");
  check(
      o.output_mode != "one_hot" || o.split.empty(), ErrorKind::value, where(),
      "output_mode = \"one_hot\" of texts that are split - expected rows of one length - use \"multi_hot\", or encode "
      "the indices by category_encoding.");
  check(!o.ragged, ErrorKind::value, where(),
        "ragged = true - expected false, because outputs are dense - leave ragged out.");
  const auto check_ngram = [this](std::int64_t size) {
    check(size > 0 && size < 1000, ErrorKind::value, where(), "ngrams of ", size,
          " tokens - expected 1 to 999 - set ngrams.");
  };
  ngrams_ = o.ngrams.sizes();
  if (o.ngrams.up_to()) {
    const std::int64_t most = *o.ngrams.up_to();
    check_ngram(most);
    ngrams_.resize(static_cast<std::size_t>(most));
    std::iota(ngrams_.begin(), ngrams_.end(), 1);
  }
  std::ranges::for_each(ngrams_, check_ngram);
  categories::check_dense(o.sparse, where());
  text::check_encoding(o.encoding, where());
  begin({.max_tokens = o.max_tokens,
         .mask_token = "",
         .output_mode = o.output_mode,
         .pad_to_max_tokens = o.pad_to_max_tokens},
        o.vocabulary, o.idf_weights);
}

std::string TextVectorization::standardized(const std::string& given) const {
  const TextStep how = options().standardize;  // a copy: the function may set the vocabulary, and so the options
  if (how.function()) {
    std::vector<std::string> texts = how.function()(given);
    check(texts.size() == 1, ErrorKind::value, where(), "a function standardize that returns ", texts.size(),
          " texts - expected one - return a string.");
    return std::move(texts.front());
  }
  std::string result = given;
  if (how.name().starts_with("lower")) result = text::lowered(std::move(result));
  if (how.name().ends_with("strip_punctuation")) result = text::without_punctuation(std::move(result));
  return result;
}

std::vector<std::string> TextVectorization::split(const std::string& given) const {
  const TextStep how = options().split;
  if (how.function()) return how.function()(given);
  return how.name() == "character" ? text::characters_of(given) : text::words_of(given);
}

Tokens TextVectorization::tokens_of(const Strings& x) const {
  std::vector<std::string> texts;
  for (const std::string& each : x.texts()) texts.push_back(standardized(each));
  const Shape& shape = x.shape();
  Tokens tokens;
  if (options().split.empty()) {
    tokens = text::rows_of(Strings(shape, std::move(texts)));
  } else {
    check(shape.rank() < 2 || shape[-1] == 1, ErrorKind::shape, where(), "texts of shape ", shape,
          " - expected [texts] or [texts, 1] - set split to none if they are tokens.");
    tokens.lead = shape.rank() < 2 ? shape : shape.slice(0, shape.rank() - 1);
    for (const std::string& each : texts) tokens.rows.push_back(split(each));
  }
  if (!ngrams_.empty()) {
    tokens.columns = 0;
    for (std::vector<std::string>& row : tokens.rows) row = text::ngrams_of(row, ngrams_);
  }
  return tokens;
}

Tensor TextVectorization::compute(const std::vector<StringsOrTensor>& inputs) const {
  const Strings& x = texts_in(inputs);
  const Tensor result = indices_of(tokens_of(x), options().output_sequence_length);
  const bool is_token = x.shape().rank() == 0 && options().split.empty() && ngrams_.empty();
  return is_token && options().output_mode == "int" && !options().output_sequence_length ? result.reshape({}) : result;
}

void TextVectorization::keep(std::vector<std::string> vocabulary, std::vector<double> idf_weights) {
  TextVectorizationOptions options = this->options();
  options.vocabulary = std::move(vocabulary);
  options.idf_weights = std::move(idf_weights);
  describe({class_entry<TextVectorization>, std::move(options)});
}

}  // namespace etude
