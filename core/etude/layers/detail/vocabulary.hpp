#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "etude/base/integers.hpp"
#include "etude/base/tensor.hpp"
#include "etude/layers/detail/categories.hpp"

namespace etude {

/// The tokens of samples: `lead` are the extents of the samples, and each has a row. `columns` is the length of rows
/// that are equally long, also if there are none.
struct Tokens {
  Shape lead;
  std::vector<std::vector<std::string>> rows;
  std::size_t columns = 0;
};

/// The options of a vocabulary.
struct VocabularyRules {
  std::optional<std::int64_t> max_tokens = {};
  std::int64_t num_oov_indices = 1;
  std::optional<std::string> mask_token = {};
  std::string oov_token = "[UNK]";
  bool invert = false;
  std::string output_mode = "int";
  bool pad_to_max_tokens = false;
  Integers salt = {};
};

/// Numbers of `shape`, encoded as `mode`; -1 has no entry. Axis 1 has the categories of a sample; without it all are of
/// one sample. `weights` multiply the counts, or are empty. Source: encode_categorical_inputs in
/// keras/src/utils/numerical_utils.py.
Tensor encoded_on_host(std::span<const std::int64_t> numbers, const Shape& shape, std::int64_t depth,
                       categories::OutputMode mode, DType dtype, std::span<const float> weights = {});

/// The hash of a string, from 0 to bins - 1: of FarmHash without a salt, else SipHash with the salt as its key.
std::int64_t bin_of(const std::string& text, std::int64_t bins, const Integers& salt);
/// Throws Error(value) unless it is empty, one number or two.
void check_salt(const Integers& salt, const std::string& where);

/// Tokens with indices, for the layers of vocabularies; and the counts from which one is made. `where` names the layer
/// in errors.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Without tokens. Throws Error(value) for rules that contradict each other.
  Vocabulary(VocabularyRules rules, std::string where);

  /// Sets the tokens, and their weights for "tf_idf". Throws Error(value).
  void set(std::vector<std::string> tokens, const std::vector<double>& idf_weights);
  /// Throws Error(state) without tokens.
  void check_set() const;

  /// Forgets all counts.
  void reset_counts();
  /// Counts the tokens of a document.
  void count(std::span<const std::string> document);
  /// Sets the tokens that were counted, and their weights. Throws Error(data) if there are none.
  void set_counted();

  /// The tokens without those of mask and unknown ones; and their weights.
  const std::vector<std::string>& tokens() const { return tokens_; }
  std::vector<double> token_weights() const { return {token_weights_.begin(), token_weights_.end()}; }
  /// The number of indices before the vocabulary: of mask and unknown tokens.
  std::int64_t first_known() const { return first_unknown() + rules_.num_oov_indices; }
  /// The number of indices.
  std::int64_t size() const { return first_known() + std::ssize(tokens_); }
  /// The entries of an encoded row.
  std::int64_t depth() const { return rules_.pad_to_max_tokens ? *rules_.max_tokens : size(); }
  /// The index of a token; -1 if an encoding has no entry for it. Throws Error(data) for an unknown token without
  /// indices for them.
  std::int64_t index_of(const std::string& token) const;
  /// The token of an index.
  const std::string& token_of(std::int64_t index) const;
  /// The weights of an encoded row, for "tf_idf".
  std::vector<float> weights() const;
  /// "tf_idf" is that of counts.
  categories::OutputMode mode() const { return mode_; }
  /// The rules.
  const VocabularyRules& rules() const { return rules_; }

 private:
  struct Count {
    std::int64_t tokens = 0, documents = 0, last_document = 0;
  };
  bool has_mask_index() const { return rules_.mask_token && mode_ == categories::OutputMode::integer; }
  std::int64_t first_unknown() const { return has_mask_index() ? 1 : 0; }
  /// The token of an index before first_known().
  const std::string& special_token(std::int64_t index) const;

  VocabularyRules rules_;
  std::string where_;
  categories::OutputMode mode_ = categories::OutputMode::integer;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int64_t> indices_;
  std::vector<float> special_weights_, token_weights_;
  std::unordered_map<std::string, Count> counts_;
  std::int64_t documents_ = 0;
};

}  // namespace etude
