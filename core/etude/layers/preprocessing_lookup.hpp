#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/layers/preprocessing_layer.hpp"

namespace etude {

struct IntegerLookupOptions {
  std::optional<std::int64_t> max_tokens = {};
  std::int64_t num_oov_indices = 1;
  std::optional<std::int64_t> mask_token = {};
  std::int64_t oov_token = -1;
  std::vector<std::int64_t> vocabulary = {};
  std::string vocabulary_dtype = "int64";
  std::vector<double> idf_weights = {};
  bool invert = false;
  std::string output_mode = "int";
  bool sparse = false;
  bool pad_to_max_tokens = false;
  std::string oov_method = "floormod";
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = IntegerLookupOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::max_tokens>("The most indices, those of the mask and of unknown integers included. Default: "
                               "any number."),
        option<&O::num_oov_indices>("Number of indices of unknown integers."),
        option<&O::mask_token>("Integer that is no data: its index is 0. Default: none."),
        option<&O::oov_token>("What invert gives for indices of unknown integers."),
        option<&O::vocabulary>("The known integers, in the order of their indices. Default: those of the data "
                               "that the layer adapts to, the most frequent ones first."),
        option<&O::vocabulary_dtype>("Must be \"int64\"; integers are in the range of int32."),
        option<&O::idf_weights>("Inverse document frequencies of the vocabulary, for \"tf_idf\"."),
        option<&O::invert>("Whether it computes integers from indices."),
        option<&O::output_mode>("\"int\": indices; \"one_hot\"; \"multi_hot\": the indices of a sample; "
                                "\"count\": how often each occurs in a sample; \"tf_idf\": counts times inverse "
                                "document frequencies."),
        option<&O::sparse>("Must be false: outputs are dense."),
        option<&O::pad_to_max_tokens>("Whether encoded rows have max_tokens entries, even with fewer indices."),
        option<&O::oov_method>("Must be \"floormod\": an unknown integer modulo num_oov_indices is its index."),
        layer_fields<O>());
  }
};

/// The index of each integer in a vocabulary. Index 0 is that of mask_token, if there is one and indices are the
/// output; then follow those of unknown integers, and then the vocabulary. Without indices for unknown integers they
/// become -1. adapt() finds the vocabulary, which is saved in the config, and with "tf_idf" the weights; each
/// row is then a document, and so is a batch of a dataset with one axis. Call it before a model runs. Throws
/// Error(state) before that, Error(value) for options that contradict each other. Source:
/// keras/src/layers/preprocessing/integer_lookup.py.
class IntegerLookup : public PreprocessingLayer {
 public:
  using Options = IntegerLookupOptions;
  using Product = IntegerLookup;
  static constexpr ClassText about{.name = "IntegerLookup",
                                   .text = "Indices of integers in a vocabulary: [..] -> [..].",
                                   .example = R"({"vocabulary": [3, 5]})"};
  explicit IntegerLookup(IntegerLookupOptions options = {});
  Value call(Value x, bool training) override;
  bool adapts() const override { return adapts_; }
  void reset_state() override;
  void update_state(const Tensor& batch) override;
  void finalize_state() override;

  /// The integers by their indices: for those of the mask and of unknown integers their tokens.
  std::vector<std::int64_t> get_vocabulary(bool include_special_tokens = true) const;
  /// The number of indices.
  std::int64_t vocabulary_size() const;
  /// The weights of an encoded row, for "tf_idf": [indices], with those of the mask and of unknown integers. None
  /// before there is a vocabulary.
  std::optional<Tensor> idf_weights() const override;

 private:
  const IntegerLookupOptions& options() const { return described_options<IntegerLookupOptions>(); }
  void set_vocabulary();
  bool weighted() const { return options().output_mode == "tf_idf"; }
  /// The output mode; that of counts for "tf_idf".
  std::string_view encoding() const { return weighted() ? "count" : std::string_view(options().output_mode); }
  /// The entries of an encoded row.
  std::int64_t depth() const { return options().pad_to_max_tokens ? *options().max_tokens : vocabulary_size(); }
  /// The first index of unknown integers, and of the vocabulary.
  std::int64_t first_unknown() const;
  std::int64_t first_known() const { return first_unknown() + options().num_oov_indices; }
  Value index_of(Value token) const;
  Value token_of(Value index) const;

  bool adapts_;
  /// The vocabulary; in ascending order; the indices of those; and the weights of an encoded row.
  Variable tokens_, sorted_, indices_, weights_;
  struct Count {
    std::int64_t tokens = 0, documents = 0, last_document = 0;
  };
  std::map<std::int32_t, Count> counts_;
  std::int64_t documents_ = 0;
};

namespace layers {
inline constexpr Factory<IntegerLookup> integer_lookup;
}  // namespace layers

}  // namespace etude
