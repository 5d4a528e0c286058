#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/doubles.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/preprocessing_layer.hpp"

namespace etude {

struct NormalizationOptions {
  Integers axis = -1;
  Doubles mean = {};
  Doubles variance = {};
  bool invert = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = NormalizationOptions> static constexpr auto fields() {
    return option_rows(option<&O::axis>("Axes with a mean and a variance of their own; none: one for all."),
                       option<&O::mean>("Means, if they are known: one, or one for each entry of the axes. "
                                        "Default: those of the data that the layer adapts to."),
                       option<&O::variance>("Variances, if the means are set."),
                       option<&O::invert>("Whether it computes the inputs from normalized ones."), layer_fields<O>());
  }
};

/// (x - mean) / max(sqrt(variance), epsilon()), with means and variances along `axis`, which adapt() or the options
/// set; before that 0 and 1. invert: the inverse. Throws Error(value) for numbers that do not match the axis,
/// Error(shape) for the batch axis and for inputs of other extents than those it was built for. Source:
/// keras/src/layers/preprocessing/normalization.py.
class Normalization : public PreprocessingLayer {
 public:
  using Options = NormalizationOptions;
  static constexpr ClassText about{"Normalization",
                                   "Shifts and scales inputs to mean 0 and variance 1: [batch, ..] -> [batch, ..]."};
  explicit Normalization(NormalizationOptions options = {});
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;
  bool adapts() const override { return options_.mean.empty(); }
  /// Whether it has means and variances: of data, of the options, or loaded ones other than 0 and 1.
  bool adapted() const;
  void reset_state() override;
  void update_state(const Tensor& batch) override;
  void finalize_state() override;

 private:
  std::vector<std::ptrdiff_t> kept_axes(const Shape& input_shape) const;
  Shape kept_extents(const Shape& input_shape) const;

  const NormalizationOptions& options_;
  Variable mean_, variance_;
  double rows_ = 0;  // of each mean, so far
  std::vector<double> means_, variances_;
};

struct DiscretizationOptions {
  Doubles bin_boundaries = {};
  std::optional<std::int64_t> num_bins = {};
  double epsilon = 0.01;
  std::string output_mode = "int";
  bool sparse = false;
  std::string dtype = {};
  std::string name = {};
  bool trainable = true;
  template <class O = DiscretizationOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::bin_boundaries>("Boundaries between the bins, in ascending order. Default: those of the data "
                                   "that the layer adapts to."),
        option<&O::num_bins>("Number of bins, if the layer adapts to data."),
        option<&O::epsilon>("Error of the quantiles of the data, as a fraction; smaller ones need more memory."),
        option<&O::output_mode>("\"int\": numbers of bins; \"one_hot\"; \"multi_hot\": the bins of a sample; "
                                "\"count\": how often each occurs in a sample."),
        option<&O::sparse>("Must be false: outputs are dense."), layer_fields<O>());
  }
};

/// The number of the bin of each element: 0 below the first boundary, 1 from it on, and so on; NaN is in the last bin.
/// adapt() chooses boundaries so that the bins have equally many elements of the data, NaN being the largest; num_bins
/// - 1 boundaries are saved as a weight. Throws Error(value) unless either bin_boundaries or num_bins is set,
/// Error(state) before adapt(). Source: keras/src/layers/preprocessing/discretization.py.
class Discretization : public PreprocessingLayer {
 public:
  using Options = DiscretizationOptions;
  static constexpr ClassText about{.name = "Discretization",
                                   .text = "Numbers of the bins of its inputs: [..] -> [..].",
                                   .example = R"({"bin_boundaries": [0.0, 1.0]})"};
  explicit Discretization(DiscretizationOptions options);
  Value call(Value x, bool training) override;
  bool adapts() const override { return options_.num_bins.has_value(); }
  /// Whether it has boundaries, of data or of the options.
  bool adapted() const;
  /// The number of bins.
  std::int64_t num_bins() const { return boundaries_.size() + 1; }
  void reset_state() override;
  void update_state(const Tensor& batch) override;
  void finalize_state() override;

 private:
  /// A number that stands for `weight` of the data.
  struct Point {
    double number, weight;
  };
  static std::vector<Point> compressed(const std::vector<Point>& points, double epsilon);

  const DiscretizationOptions& options_;
  Variable boundaries_;
  std::vector<Point> summary_;
};

struct CategoryEncodingOptions {
  std::int64_t num_tokens = 0;
  std::string output_mode = "multi_hot";
  bool sparse = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = CategoryEncodingOptions> static constexpr auto fields() {
    return option_rows(option<&O::num_tokens>("Number of categories.", Need::required),
                       option<&O::output_mode>("\"one_hot\": a row for each number; \"multi_hot\": a row for "
                                               "each sample; \"count\": how often each occurs in a sample."),
                       option<&O::sparse>("Must be false: outputs are dense."), layer_fields<O>());
  }
};

/// Category numbers as rows of 0 and 1, or of counts. With output_mode "count" it may be called on a list {numbers,
/// weights}, weights of the shape of the numbers. Throws Error(value) for numbers out of range, where the host has
/// them. Source: keras/src/layers/preprocessing/category_encoding.py.
class CategoryEncoding : public Layer {
 public:
  using Options = CategoryEncodingOptions;
  static constexpr ClassText about{
      .name = "CategoryEncoding",
      .text = "Numbers of categories as rows of 0 and 1, or of counts: [batch, numbers] -> [batch, categories].",
      .example = R"({"num_tokens": 4})"};
  explicit CategoryEncoding(CategoryEncodingOptions options);
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;

 private:
  const CategoryEncodingOptions& options_;
};

namespace layers {
inline constexpr Factory<Normalization> normalization;
inline constexpr Factory<Discretization> discretization;
inline constexpr Factory<CategoryEncoding> category_encoding;
}  // namespace layers

}  // namespace etude
