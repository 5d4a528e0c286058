#pragma once

/// All losses.
#include "etude/losses/circle.hpp"
#include "etude/losses/crossentropy.hpp"
#include "etude/losses/ctc.hpp"
#include "etude/losses/distribution.hpp"
#include "etude/losses/focal.hpp"
#include "etude/losses/hinge.hpp"
#include "etude/losses/overlap.hpp"
#include "etude/losses/regression.hpp"

namespace etude::losses {

/// The families of losses. To add a loss, add it here.
using RegressionLosses = ClassList<MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError,
                                   MeanSquaredLogarithmicError, Huber, LogCosh, CosineSimilarity>;
using HingeLosses = ClassList<Hinge, SquaredHinge, CategoricalHinge>;
using ProbabilisticLosses =
    ClassList<KLDivergence, Poisson, BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy,
              BinaryFocalCrossentropy, CategoricalFocalCrossentropy, CategoricalGeneralizedCrossEntropy>;
using OverlapLosses = ClassList<Dice, Tversky>;

/// Losses of which a target is a list of labels, or of which samples are compared with each other.
using LabelLosses = ClassList<Circle, CTC>;

using Losses = Concatenated<RegressionLosses, HingeLosses, ProbabilisticLosses, OverlapLosses, LabelLosses>;

}  // namespace etude::losses
