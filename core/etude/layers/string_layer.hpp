#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "etude/base/strings.hpp"
#include "etude/base/tensor.hpp"
#include "etude/layers/detail/vocabulary.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

/// An input of a layer that hashes: strings or numbers.
using StringsOrTensor = std::variant<Strings, Tensor>;

/// A layer whose inputs are strings, which it converts on the host. It is called before a model, on the texts of a data
/// set or in a function of a Dataset, and its result is data for the model: `model.fit((*vectorize)(texts), labels)`.
/// A model that contains it throws Error(value) when it is built. Its config has all of its state.
class StringLayer : public Layer {
 public:
  using Product = StringLayer;

  /// The result for strings.
  Tensor operator()(const Strings& x) const { return compute({x}); }
  /// The same for a list of inputs, one for most layers. Throws Error(value) for another number of them.
  virtual Tensor compute(const std::vector<StringsOrTensor>& inputs) const = 0;
  /// Whether its input is a list of several.
  virtual bool takes_list() const { return false; }

  /// Throws Error(value): a Value has no strings.
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;

 protected:
  using Layer::Layer;
};

/// The rows of the options that all layers of strings with a vocabulary have.
template <class Options> constexpr auto vocabulary_fields() {
  return option_rows(
      option<&Options::vocabulary>("The known tokens, in the order of their indices. Default: those of the data that "
                                   "the layer adapts to, the most frequent ones first."),
      option<&Options::idf_weights>("Inverse document frequencies of the vocabulary, for \"tf_idf\"."),
      option<&Options::pad_to_max_tokens>("Whether encoded rows have max_tokens entries, even with fewer indices."),
      option<&Options::sparse>("Must be false: outputs are dense."), option<&Options::encoding>("Must be \"utf-8\"."),
      option<&Options::vocabulary_size>("Configs of Keras have it; the vocabulary determines it."));
}

/// A layer of strings with a vocabulary, which the options or adapt() set. Source:
/// keras/src/layers/preprocessing/index_lookup.py.
class VocabularyLayer : public StringLayer {
 public:
  using Product = VocabularyLayer;

  /// Computes the vocabulary, and with output_mode "tf_idf" the weights, from `data` alone: the most frequent tokens
  /// come first, and of equally frequent ones the last in the order of their bytes. Throws Error(state) if the options
  /// have a vocabulary.
  void adapt(const Strings& data);
  /// The same for batches, such as a std::vector<Strings>.
  template <class Batches>
    requires requires(const Batches& batches) {
      { *batches.begin() } -> std::same_as<const Strings&>;
    }
  void adapt(const Batches& batches) {
    reset_state();
    for (const Strings& batch : batches) update_state(batch);
    finalize_state();
  }

  /// Whether data sets the vocabulary: not if the options do.
  bool adapts() const { return adapts_; }
  /// The first step of adapt: discards all data. Throws as adapt does.
  void reset_state();
  /// The second step, for each batch: counts its tokens.
  void update_state(const Strings& batch);
  /// The last step: sets the vocabulary. Throws Error(data) if there was no token.
  void finalize_state();

  /// Sets the vocabulary, and the weights of its tokens if output_mode is "tf_idf". Throws Error(value) for repeated
  /// tokens, for more than max_tokens, and for another number of weights.
  void set_vocabulary(std::vector<std::string> vocabulary, std::vector<double> idf_weights = {});
  /// The tokens by their indices, those of mask and unknown tokens first.
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  /// The number of indices.
  std::int64_t vocabulary_size() const { return vocabulary_.size(); }
  /// The tokens of indices: the inverse of output_mode "int". Those of unknown tokens, and beyond the vocabulary,
  /// become oov_token. Throws Error(state) before adapt().
  Strings strings_of(const Tensor& indices) const;

 protected:
  using StringLayer::StringLayer;
  /// The tokens of each sample.
  virtual Tokens tokens_of(const Strings& x) const = 0;
  /// Sets these options.
  virtual void keep(std::vector<std::string> vocabulary, std::vector<double> idf_weights) = 0;
  /// For constructors: the rules, and the vocabulary unless it is empty.
  void begin(VocabularyRules rules, const std::vector<std::string>& vocabulary, const std::vector<double>& idf_weights);
  /// The only input, strings. Throws Error(value) if there is no vocabulary, or another input.
  const Strings& texts_in(const std::vector<StringsOrTensor>& inputs) const;
  /// The indices of the tokens, or their encoding. Rows are padded or cut to `length`, or padded to the longest one.
  Tensor indices_of(const Tokens& tokens, std::optional<std::int64_t> length = {}) const;

 private:
  Vocabulary vocabulary_;
  bool adapts_ = true;
};

}  // namespace etude
