#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/layers/string_layer.hpp"
#include "etude/layers/text_options.hpp"

namespace etude {

struct TextVectorizationOptions {
  std::optional<std::int64_t> max_tokens = {};
  TextStep standardize = "lower_and_strip_punctuation";
  TextStep split = "whitespace";
  NgramSizes ngrams = {};
  std::string output_mode = "int";
  std::optional<std::int64_t> output_sequence_length = {};
  bool pad_to_max_tokens = false;
  std::vector<std::string> vocabulary = {};
  std::vector<double> idf_weights = {};
  bool sparse = false;
  bool ragged = false;
  std::string encoding = "utf-8";
  std::string name = {};
  std::optional<std::int64_t> vocabulary_size = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = TextVectorizationOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::max_tokens>("The most indices, those of padding and of unknown tokens included. Default: any "
                               "number."),
        option<&O::standardize>("\"lower_and_strip_punctuation\", \"lower\" or \"strip_punctuation\", all of "
                                "ASCII; a function of a text; or none."),
        option<&O::split>("\"whitespace\" or \"character\"; a function of a text that gives its tokens; or none: "
                          "texts are tokens."),
        option<&O::ngrams>("Sizes of n-grams: the largest, or a list. Default: single tokens."),
        option<&O::output_mode>("\"int\": indices; \"multi_hot\": the indices of a text; \"count\": how often "
                                "each occurs in a text; \"tf_idf\": counts times inverse document frequencies; "
                                "\"one_hot\" if texts are not split."),
        option<&O::output_sequence_length>("Number of indices of a text: others are cut off, or padding is "
                                           "added. Default: that of the longest text."),
        option<&O::ragged>("Must be false: outputs are dense."), vocabulary_fields<O>(), layer_fields<O>());
  }
};

/// The tokens of texts as int32 indices: 0 is padding, 1 an unknown token, and from 2 on the vocabulary; or encodings
/// of the indices, in the compute dtype, without padding. Texts are [samples] or [samples, 1]; without `split` the last
/// axis has the tokens of a sample. Throws Error(state) before adapt(), Error(shape) for texts of other shapes,
/// Error(value) for options that contradict each other. A layer with a function has no config. Source:
/// keras/src/layers/preprocessing/text_vectorization.py.
///
///     const auto vectorize = layers::text_vectorization({.max_tokens = 5000, .output_sequence_length = 20});
///     vectorize->adapt(texts);
///     model.fit((*vectorize)(texts), labels);
class TextVectorization : public VocabularyLayer {
 public:
  using Options = TextVectorizationOptions;
  using Product = TextVectorization;
  static constexpr ClassText about{.name = "TextVectorization",
                                   .text = "Indices or encodings of the words of texts: [texts] -> [texts, words].",
                                   .example = R"({"vocabulary": ["cat", "dog"]})"};
  explicit TextVectorization(TextVectorizationOptions options = {});
  Tensor compute(const std::vector<StringsOrTensor>& inputs) const override;

 protected:
  Tokens tokens_of(const Strings& x) const override;
  void keep(std::vector<std::string> vocabulary, std::vector<double> idf_weights) override;

 private:
  const TextVectorizationOptions& options() const { return described_options<TextVectorizationOptions>(); }
  std::string standardized(const std::string& text) const;
  std::vector<std::string> split(const std::string& text) const;

  std::vector<std::int64_t> ngrams_;
};

namespace layers {
inline constexpr Factory<TextVectorization> text_vectorization;
}  // namespace layers

}  // namespace etude
