#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/layers/string_layer.hpp"
#include "etude/layers/symbolic.hpp"

namespace etude {

/// The columns of a table by their names, strings or numbers: each [rows] or [rows, 1]; or those of one row, scalars.
using FeatureColumns = std::map<std::string, StringsOrTensor>;

/// The encoding of a column by a FeatureSpace: a type, or a layer that preprocesses it.
struct Feature {
  /// "float", "float_normalized", "float_rescaled", "float_discretized", "integer_categorical", "string_categorical",
  /// "integer_hashed" or "string_hashed".
  std::string type = {};
  /// "one_hot", "int" or "float". Default: "one_hot", for the first three types "float".
  std::string output_mode = {};
  /// Bins of discretized and hashed columns. Default: those of the FeatureSpace.
  std::optional<std::int64_t> num_bins = {};
  /// Boundaries between the bins of discretized columns. Default: those of the data.
  std::vector<double> bin_boundaries = {};
  /// The most indices of categories, those of unknown ones included. Default: any number.
  std::optional<std::int64_t> max_tokens = {};
  /// Indices of unknown categories.
  std::int64_t num_oov_indices = 1;
  /// Factor of rescaled columns, and the number that is added after it.
  double scale = 1, offset = 0;
  /// A layer, instead of a type. It needs an output_mode; for "one_hot" it makes indices or bins.
  LayerPtr preprocessor = {};

  template <class O = Feature> static constexpr auto fields() {
    return option_rows(
        option<&O::type>("\"float\", \"float_normalized\", \"float_rescaled\", \"float_discretized\", "
                         "\"integer_categorical\", \"string_categorical\", \"integer_hashed\" or "
                         "\"string_hashed\"."),
        option<&O::output_mode>("\"one_hot\", \"int\" or \"float\". Default: \"one_hot\", for the first three "
                                "types \"float\"."),
        option<&O::num_bins>("Bins of discretized and hashed columns. Default: those of the FeatureSpace."),
        option<&O::bin_boundaries>("Boundaries between the bins of discretized columns. Default: those of the "
                                   "data."),
        option<&O::max_tokens>("The most indices of categories, those of unknown ones included. Default: any "
                               "number."),
        option<&O::num_oov_indices>("Indices of unknown categories."), option<&O::scale>("Factor of rescaled columns."),
        option<&O::offset>("What is added to rescaled columns, after the factor."),
        option<&O::preprocessor>("A layer, instead of a type. It needs an output_mode; for \"one_hot\" it makes "
                                 "indices or bins."));
  }
};

/// Features whose combinations are a further one.
struct FeatureCross {
  /// The names of two or more features whose layers make indices or bins.
  std::vector<std::string> feature_names = {};
  /// Bins of the combinations. Default: those of the FeatureSpace.
  std::optional<std::int64_t> crossing_dim = {};
  /// "one_hot" or "int".
  std::string output_mode = "one_hot";

  template <class O = FeatureCross> static constexpr auto fields() {
    return option_rows(option<&O::feature_names>("Names of two or more features with indices or bins."),
                       option<&O::crossing_dim>("Bins of the combinations. Default: those of the "
                                                "FeatureSpace."),
                       option<&O::output_mode>("\"one_hot\" or \"int\"."));
  }
};

/// The options of a FeatureSpace.
struct FeatureSpaceOptions {
  /// The encoding of each column, by its name.
  std::map<std::string, Feature> features = {};
  /// "concat": one tensor; "dict": one for each feature.
  std::string output_mode = "concat";
  /// Combinations of features.
  std::vector<FeatureCross> crosses = {};
  /// Bins of crosses, of hashed and of discretized columns that have no number of their own.
  std::int64_t crossing_dim = 32, hashing_dim = 32, num_discretization_bins = 32;

  /// Those of numbers and names.
  template <class O = FeatureSpaceOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::output_mode>("\"concat\": one tensor; \"dict\": one for each feature and cross."),
        option<&O::crossing_dim>("Bins of crosses that have no number of their own."),
        option<&O::hashing_dim>("Bins of hashed columns that have no number of their own."),
        option<&O::num_discretization_bins>("Bins of discretized columns that have no number of their own."));
  }
};

/// The contents of a FeatureSpace, as to_json() writes them.
struct FeatureParts {
  /// A column, and the feature that is made of it.
  struct Column {
    /// Its name, which is that of the feature.
    std::string name;
    /// "float32", "int32" or "string".
    std::string dtype;
    /// "one_hot", "int" or "float".
    std::string output_mode;
    /// Its layer.
    LayerPtr layer;
  };
  /// The columns.
  std::vector<Column> columns = {};
  /// Combinations of features, each with its crossing_dim.
  std::vector<FeatureCross> crosses = {};
  /// "concat" or "dict".
  std::string output_mode = "concat";
};

/// Encodes tables of numbers and strings, on the host, before a model. Each column gets a layer that preprocesses it;
/// indices and bins become rows of 0 and 1. Source: keras/src/layers/preprocessing/feature_space.py.
///
///     FeatureSpace space({.features = {{"age", {"float_normalized"}}, {"city", {"string_categorical"}}}});
///     space.adapt(table);
///     model.fit(space(table), labels);
class FeatureSpace : public std::enable_shared_from_this<FeatureSpace> {
 public:
  /// Throws Error(value) for unknown types and names, and for a feature without a type or a preprocessor.
  explicit FeatureSpace(FeatureSpaceOptions options);
  /// One of these parts. Throws Error(value) as above.
  explicit FeatureSpace(const FeatureParts& parts);
  /// Its parts. The layers are shared.
  FeatureParts parts() const;

  /// Computes the state of all preprocessors that adapt to data, from these columns alone; others are ignored.
  void adapt(const FeatureColumns& data);
  /// The same for batches, such as a std::vector<FeatureColumns>.
  template <class Batches>
    requires requires(const Batches& batches) {
      { *batches.begin() } -> std::same_as<const FeatureColumns&>;
    }
  void adapt(const Batches& batches) {
    reset_state();
    for (const FeatureColumns& batch : batches) update_state(batch);
    finalize_state();
  }
  /// The first step of adapt: discards all data.
  void reset_state();
  /// The second step, for each batch.
  void update_state(const FeatureColumns& batch);
  /// The last step: sets the state. Throws Error(data) if there was no data.
  void finalize_state();

  /// The encoded columns [rows, numbers], or [numbers] of one row: the features in the order of their names, then the
  /// crosses in the order of theirs. Throws Error(state) before adapt() and with output_mode "dict", Error(value) for
  /// other columns than those of the features and for a feature with indices instead of floats, Error(shape) for
  /// columns of different lengths.
  Tensor operator()(const FeatureColumns& data) const;
  /// The encoded features and crosses by their names: {"age": [rows, 1], "city_X_age": [rows, bins]}, without the first
  /// axis of one row. Throws as operator() does; indices are allowed.
  std::map<std::string, Tensor> encoded(const FeatureColumns& data) const;
  /// Whether adapt() has been called, or no layer needs it.
  bool adapted() const { return adapted_; }
  /// Whether calls concatenate: output_mode.
  bool concatenates() const { return concatenates_; }

  /// The inputs of a functional model, [batch, 1], by the names of the features, which are theirs.
  std::map<std::string, SymbolicTensor> get_inputs();
  /// The computation of operator(), from these inputs, as a part of a functional model. Throws as operator() does, and
  /// Error(value) for features of strings, hashed features and crosses, which are encoded on the host.
  SymbolicTensor get_encoded_features();

  /// The layers of features, by the names of these.
  const std::map<std::string, LayerPtr>& preprocessors() const { return preprocessors_; }
  /// The layers of crosses, by their names: "city_X_rooms".
  const std::map<std::string, LayerPtr>& crossers() const { return crossers_; }

 private:
  struct Encoding;
  void check_concatenates() const;
  std::vector<Encoding> encodings(const FeatureColumns& data) const;

  bool concatenates_, adapted_ = false;
  std::map<std::string, LayerPtr> preprocessors_, crossers_;
  std::map<std::string, std::string> output_modes_, dtypes_;
  std::map<std::string, std::vector<std::string>> crossed_;
  std::map<std::string, std::int64_t> cross_bins_;
  std::map<std::string, SymbolicTensor> inputs_;
  std::optional<SymbolicTensor> encoded_;  // of the state that it has adapted to
};

namespace detail {

/// Makes a FeatureSpace of its parts.
extern std::shared_ptr<FeatureSpace> (*feature_space_maker)(const FeatureParts& parts);

}  // namespace detail

}  // namespace etude
