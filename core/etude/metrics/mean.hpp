#pragma once

#include <optional>
#include <string>

#include "etude/base/doubles.hpp"
#include "etude/base/shape.hpp"
#include "etude/metrics/metric.hpp"

/// Means of Keras 2, besides Mean.
namespace etude::metrics {

struct MeanTensorOptions {
  std::string name = "mean_tensor", dtype = {};
  std::optional<Shape> shape = {};
  template <class O = MeanTensorOptions> static constexpr auto fields() {
    return option_rows(metric_fields<O>(),
                       option<&O::shape>("Extents of the values. Default: those of the first batch."));
  }
};
struct MeanRelativeErrorOptions {
  Doubles normalizer = {};
  std::string name = "mean_relative_error", dtype = {};
  template <class O = MeanRelativeErrorOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::normalizer>("What errors are divided by: one number, or one for each output.", Need::required),
        metric_fields<O>());
  }
};
struct SumOverBatchSizeOptions {
  std::string name = "sum_over_batch_size", dtype = {};
  template <class O = SumOverBatchSizeOptions> static constexpr auto fields() {
    return option_rows(metric_fields<O>());
  }
};

/// The mean over batches of each element of the predictions, weighted: a tensor of their shape, the axis of the batch
/// included, and 0 where there is no weight. A weight of fewer axes is repeated along the later axes. Throws
/// Error(shape) for predictions of another shape than before. Source: keras/metrics/base_metric.py of Keras 2.
struct MeanTensor {
  static constexpr ClassText about{"MeanTensor", "Weighted mean of each element over batches."};
  static MetricPtr make(const MeanTensorOptions& options);
};
inline constexpr Factory<MeanTensor> mean_tensor;

/// The mean of |y_true - y_pred| / normalizer, and of 0 where the normalizer is 0. Throws Error(value) without a
/// normalizer, Error(shape) for targets of another shape than the predictions, and for another number of normalizers
/// than outputs. Source: keras/metrics/regression_metrics.py of Keras 2.
struct MeanRelativeError {
  static constexpr ClassText about{.name = "MeanRelativeError",
                                   .text = "Mean of absolute errors that are divided by a normalizer.",
                                   .example = R"({"normalizer": [1, 3]})"};
  static MetricPtr make(const MeanRelativeErrorOptions& options);
};
inline constexpr Factory<MeanRelativeError> mean_relative_error;

/// The sum of weighted predictions, divided by their number instead of their weights. A weight of fewer axes is
/// repeated along the later axes. Source: keras/metrics/base_metric.py of Keras 2.
struct SumOverBatchSize {
  static constexpr ClassText about{"SumOverBatchSize", "Weighted sum of all values, divided by their number."};
  static MetricPtr make(const SumOverBatchSizeOptions& options);
};
inline constexpr Factory<SumOverBatchSize> sum_over_batch_size;

}  // namespace etude::metrics
