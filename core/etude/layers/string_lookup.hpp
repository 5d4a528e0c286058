#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/integers.hpp"
#include "etude/layers/string_layer.hpp"

namespace etude {

struct StringLookupOptions {
  std::optional<std::int64_t> max_tokens = {};
  std::int64_t num_oov_indices = 1;
  std::optional<std::string> mask_token = {};
  std::string oov_token = "[UNK]";
  std::vector<std::string> vocabulary = {};
  std::vector<double> idf_weights = {};
  bool invert = false;
  std::string output_mode = "int";
  bool pad_to_max_tokens = false;
  bool sparse = false;
  std::string encoding = "utf-8";
  std::string name = {};
  Integers salt = {};
  std::string oov_method = "floormod";
  std::optional<std::int64_t> vocabulary_size = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = StringLookupOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::max_tokens>("The most indices, those of the mask and of unknown strings included. Default: "
                               "any number."),
        option<&O::num_oov_indices>("Number of indices of unknown strings, which are distributed by a hash."),
        option<&O::mask_token>("String that means no data. Its index is 0. Default: none."),
        option<&O::oov_token>("The string of indices of unknown strings."),
        option<&O::invert>("Whether the layer converts indices to strings, by strings_of(), and nothing else."),
        option<&O::output_mode>("\"int\": indices; \"one_hot\"; \"multi_hot\": the indices of a sample; "
                                "\"count\": how often each occurs in a sample; \"tf_idf\": counts times "
                                "inverse document frequencies."),
        option<&O::salt>("Key of the hash of unknown strings: one or two numbers. Default: FarmHash without a "
                         "key."),
        option<&O::oov_method>("Configs of Keras have it; strings are always hashed."), vocabulary_fields<O>(),
        layer_fields<O>());
  }
};

/// The index of each string in a vocabulary, int32, or encodings of the indices, in the compute dtype. Index 0 is that
/// of mask_token, if there is one and indices are the output; then follow those of unknown strings, and then the
/// vocabulary. The last axis of the strings has those of a sample. Throws Error(state) before adapt(), Error(data) for
/// unknown strings without indices for them, Error(value) for options that contradict each other. Source:
/// keras/src/layers/preprocessing/string_lookup.py.
///
///     const auto lookup = layers::string_lookup();
///     lookup->adapt({"cat", "dog", "cat"});
///     const Tensor indices = (*lookup)({"dog", "bird"});   // [2, 0]
class StringLookup : public VocabularyLayer {
 public:
  using Options = StringLookupOptions;
  using Product = StringLookup;
  static constexpr ClassText about{.name = "StringLookup",
                                   .text = "Indices of strings in a vocabulary: [..] -> [..].",
                                   .example = R"({"vocabulary": ["cat", "dog"]})"};
  explicit StringLookup(StringLookupOptions options = {});
  Tensor compute(const std::vector<StringsOrTensor>& inputs) const override;

 protected:
  Tokens tokens_of(const Strings& x) const override;
  void keep(std::vector<std::string> vocabulary, std::vector<double> idf_weights) override;
};

namespace layers {
inline constexpr Factory<StringLookup> string_lookup;
}  // namespace layers

}  // namespace etude
