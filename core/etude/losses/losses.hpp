#pragma once

/// All losses.
#include "etude/losses/crossentropy.hpp"
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

using Losses = Concatenated<RegressionLosses, HingeLosses, ProbabilisticLosses, OverlapLosses>;

}  // namespace etude::losses
