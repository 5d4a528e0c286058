#pragma once

#include <optional>

#include "etude/base/integers.hpp"
#include "etude/metrics/metric.hpp"

/// Intersection over union: of each class, the entries that both y_true and y_pred have it in, among those that either
/// has it in. Targets and predictions are numbers of classes, or [.., classes] of which the largest along `axis`
/// counts. Entries whose class is out of range, or ignore_class in y_true, do not count; nor do classes without entries
/// in the mean over classes. sample_weight has an entry for each of y_true, or one for each row. All throw Error(value)
/// for options out of their range, Error(shape) where there are not as many predictions as targets. Source:
/// keras/src/metrics/iou_metrics.py.
namespace etude::metrics {

/// The rows that most of them have in common.
template <class Options> constexpr auto iou_fields() {
  return option_rows(metric_fields<Options>(),
                     option<&Options::ignore_class>("A class whose targets do not count. Default: none."));
}
/// The rows of those that take scores of classes.
template <class Options> constexpr auto iou_axis_fields() {
  return option_rows(
      option<&Options::sparse_y_pred>("Whether predictions are the numbers of classes rather than a score for each."),
      option<&Options::axis>("Axis of the classes' scores."));
}
/// The rows of those that take the numbers of classes, too.
template <class Options> constexpr auto sparse_iou_fields() {
  return option_rows(iou_fields<Options>(),
                     option<&Options::sparse_y_true>("Whether targets are the numbers of classes rather than one-hot."),
                     iou_axis_fields<Options>());
}

struct IoUOptions {
  std::int64_t num_classes = 0;
  Integers target_class_ids = {};
  std::string name = "io_u", dtype = {};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_true = true, sparse_y_pred = true;
  std::ptrdiff_t axis = -1;
  template <class O = IoUOptions> static constexpr auto fields() {
    return option_rows(option<&O::num_classes>("Number of classes.", Need::required),
                       option<&O::target_class_ids>("The classes of the mean.", Need::required),
                       sparse_iou_fields<O>());
  }
};
struct BinaryIoUOptions {
  Integers target_class_ids = {0, 1};
  double threshold = 0.5;
  std::string name = "binary_io_u", dtype = {};
  template <class O = BinaryIoUOptions> static constexpr auto fields() {
    return option_rows(option<&O::target_class_ids>("The classes of the mean: 0, 1 or both."),
                       option<&O::threshold>("Prediction from which on the class is 1."), metric_fields<O>());
  }
};
struct MeanIoUOptions {
  std::int64_t num_classes = 0;
  std::string name = "mean_io_u", dtype = {};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_true = true, sparse_y_pred = true;
  std::ptrdiff_t axis = -1;
  template <class O = MeanIoUOptions> static constexpr auto fields() {
    return option_rows(option<&O::num_classes>("Number of classes.", Need::required), sparse_iou_fields<O>());
  }
};
struct OneHotIoUOptions {
  std::int64_t num_classes = 0;
  Integers target_class_ids = {};
  std::string name = "one_hot_io_u", dtype = {};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  std::ptrdiff_t axis = -1;
  template <class O = OneHotIoUOptions> static constexpr auto fields() {
    return option_rows(option<&O::num_classes>("Number of classes.", Need::required),
                       option<&O::target_class_ids>("The classes of the mean.", Need::required), iou_fields<O>(),
                       iou_axis_fields<O>());
  }
};
struct OneHotMeanIoUOptions {
  std::int64_t num_classes = 0;
  std::string name = "one_hot_mean_io_u", dtype = {};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  std::ptrdiff_t axis = -1;
  template <class O = OneHotMeanIoUOptions> static constexpr auto fields() {
    return option_rows(option<&O::num_classes>("Number of classes.", Need::required), iou_fields<O>(),
                       iou_axis_fields<O>());
  }
};

/// The mean over target_class_ids, which are from 0 to num_classes - 1.
struct IoU {
  static constexpr ClassText about{.name = "IoU",
                                   .text = "Mean intersection over union of some classes.",
                                   .example = R"({"num_classes": 3, "target_class_ids": [0, 2]})"};
  static MetricPtr make(const IoUOptions& options);
};
inline constexpr Factory<IoU> io_u;

/// Of class 0, where y_pred is below the threshold, and class 1.
struct BinaryIoU {
  static constexpr ClassText about{"BinaryIoU", "Mean intersection over union of two classes, of their probability."};
  static MetricPtr make(const BinaryIoUOptions& options);
};
inline constexpr Factory<BinaryIoU> binary_io_u;

/// The mean over all classes (M-7).
struct MeanIoU {
  static constexpr ClassText about{
      .name = "MeanIoU", .text = "Mean intersection over union of all classes.", .example = R"({"num_classes": 3})"};
  static MetricPtr make(const MeanIoUOptions& options);
};
inline constexpr Factory<MeanIoU> mean_io_u;

/// The mean over target_class_ids, of one-hot targets.
struct OneHotIoU {
  static constexpr ClassText about{.name = "OneHotIoU",
                                   .text = "Mean intersection over union of some classes, of one-hot targets.",
                                   .example = R"({"num_classes": 3, "target_class_ids": [0, 2]})"};
  static MetricPtr make(const OneHotIoUOptions& options);
};
inline constexpr Factory<OneHotIoU> one_hot_io_u;

/// The mean over all classes, of one-hot targets.
struct OneHotMeanIoU {
  static constexpr ClassText about{.name = "OneHotMeanIoU",
                                   .text = "Mean intersection over union of all classes, of one-hot targets.",
                                   .example = R"({"num_classes": 3})"};
  static MetricPtr make(const OneHotMeanIoUOptions& options);
};
inline constexpr Factory<OneHotMeanIoU> one_hot_mean_io_u;

}  // namespace etude::metrics
