#pragma once

/// All metrics.
#include "etude/metrics/accuracy.hpp"
#include "etude/metrics/of_loss.hpp"

namespace etude::metrics {

/// The families of metrics. To add a metric, add it here.
using AccuracyMetrics = ClassList<Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy,
                                  TopKCategoricalAccuracy, SparseTopKCategoricalAccuracy>;
using RegressionMetrics =
    ClassList<MeanSquaredError, RootMeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError,
              MeanSquaredLogarithmicError, LogCoshError, CosineSimilarity>;
using HingeMetrics = ClassList<Hinge, SquaredHinge, CategoricalHinge>;
using ProbabilisticMetrics =
    ClassList<KLDivergence, Poisson, BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy>;
using ReductionMetrics = ClassList<Mean, Sum>;

using Metrics = Joined<AccuracyMetrics, RegressionMetrics, HingeMetrics, ProbabilisticMetrics, ReductionMetrics>;

}  // namespace etude::metrics
