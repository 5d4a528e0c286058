#pragma once

/// All metrics.
#include "etude/metrics/accuracy.hpp"
#include "etude/metrics/confusion.hpp"
#include "etude/metrics/f_score.hpp"
#include "etude/metrics/iou.hpp"
#include "etude/metrics/mean.hpp"
#include "etude/metrics/of_loss.hpp"
#include "etude/metrics/regression.hpp"

namespace etude::metrics {

/// The families of metrics. To add a metric, add it here.
using AccuracyMetrics = ClassList<Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy,
                                  TopKCategoricalAccuracy, SparseTopKCategoricalAccuracy>;
using RegressionMetrics =
    ClassList<MeanSquaredError, RootMeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError,
              MeanSquaredLogarithmicError, LogCoshError, CosineSimilarity, R2Score>;
using CorrelationMetrics = ClassList<PearsonCorrelation, ConcordanceCorrelation>;
using ConfusionMetrics =
    ClassList<TruePositives, FalsePositives, TrueNegatives, FalseNegatives, Precision, Recall, SensitivityAtSpecificity,
              SpecificityAtSensitivity, PrecisionAtRecall, RecallAtPrecision, AUC>;
using FScoreMetrics = ClassList<FBetaScore, F1Score>;
using IoUMetrics = ClassList<IoU, BinaryIoU, MeanIoU, OneHotIoU, OneHotMeanIoU>;
using HingeMetrics = ClassList<Hinge, SquaredHinge, CategoricalHinge>;
using ProbabilisticMetrics =
    ClassList<KLDivergence, Poisson, BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy>;
using ReductionMetrics = ClassList<Mean, Sum, MeanTensor, MeanRelativeError, SumOverBatchSize>;

using Metrics = Concatenated<AccuracyMetrics, RegressionMetrics, CorrelationMetrics, HingeMetrics, ProbabilisticMetrics,
                             ConfusionMetrics, FScoreMetrics, IoUMetrics, ReductionMetrics>;

}  // namespace etude::metrics
