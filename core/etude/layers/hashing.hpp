#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "etude/base/integers.hpp"
#include "etude/layers/string_layer.hpp"
#include "etude/layers/text_options.hpp"

namespace etude {

struct HashingOptions {
  std::int64_t num_bins = 0;
  MaskValue mask_value = {};
  Integers salt = {};
  std::string output_mode = "int";
  bool sparse = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = HashingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::num_bins>("Number of bins, that of the mask included.", Need::required),
        option<&O::mask_value>("String or integer that means no data. It alone has bin 0. Default: "
                               "none."),
        option<&O::salt>("Key of the hash: one or two numbers. Default: FarmHash without a key."),
        option<&O::output_mode>("\"int\": numbers of bins; \"one_hot\"; \"multi_hot\": the bins of a sample; "
                                "\"count\": how often each occurs in a sample."),
        option<&O::sparse>("Must be false: outputs are dense."), layer_fields<O>());
  }
};

/// The bins of strings by their hashes, int32, or their encoding, in the compute dtype. Numbers are hashed as their
/// decimal strings, floats without their fractions. The last axis has the bins of a sample. The bins are those of
/// Keras. Throws Error(value) for contradictory options. Source: keras/src/layers/preprocessing/hashing.py.
class Hashing : public StringLayer {
 public:
  using Options = HashingOptions;
  using Product = Hashing;
  static constexpr ClassText about{.name = "Hashing",
                                   .text = "Numbers of bins of strings or integers by their hashes: [..] -> [..].",
                                   .example = R"({"num_bins": 4})"};
  explicit Hashing(HashingOptions options);
  /// The number of bins.
  std::int64_t num_bins() const { return described_options<HashingOptions>().num_bins; }
  using StringLayer::operator();
  /// The result for numbers.
  Tensor operator()(const Tensor& x) const { return compute({x}); }
  Tensor compute(const std::vector<StringsOrTensor>& inputs) const override;

 private:
  std::int64_t bin_without_mask(const std::string& text, bool is_mask) const;
};

struct HashedCrossingOptions {
  std::int64_t num_bins = 0;
  std::string output_mode = "int";
  bool sparse = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = HashedCrossingOptions> static constexpr auto fields() {
    return option_rows(option<&O::num_bins>("Number of bins.", Need::required),
                       option<&O::output_mode>("\"int\": numbers of bins; \"one_hot\"."),
                       option<&O::sparse>("Must be false: outputs are dense."), layer_fields<O>());
  }
};

/// The bins of combinations of features by their hashes, int32, or one_hot rows, in the compute dtype. The features are
/// strings or integers, all of shape [], [batch] or [batch, 1]. The bins are those of Keras. Throws Error(value) for
/// less than two features, Error(shape) for other shapes, Error(dtype) for floats. Source:
/// keras/src/layers/preprocessing/hashed_crossing.py.
///
///     const auto cross = layers::hashed_crossing({.num_bins = 8});
///     const Tensor bins = (*cross)({Strings{"red", "blue"}, sizes});
class HashedCrossing : public StringLayer {
 public:
  using Options = HashedCrossingOptions;
  using Product = HashedCrossing;
  static constexpr ClassText about{.name = "HashedCrossing",
                                   .text =
                                       "Numbers of bins of combined features by their hashes: 2 of [batch] -> "
                                       "[batch].",
                                   .example = R"({"num_bins": 4})"};
  explicit HashedCrossing(HashedCrossingOptions options);
  /// The number of bins.
  std::int64_t num_bins() const { return described_options<HashedCrossingOptions>().num_bins; }
  /// The result for a list of features.
  Tensor operator()(const std::vector<StringsOrTensor>& features) const { return compute(features); }
  Tensor compute(const std::vector<StringsOrTensor>& inputs) const override;
  bool takes_list() const override { return true; }
};

namespace layers {
inline constexpr Factory<Hashing> hashing;
inline constexpr Factory<HashedCrossing> hashed_crossing;
}  // namespace layers

}  // namespace etude
