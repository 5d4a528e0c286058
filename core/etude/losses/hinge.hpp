#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

// Targets are -1 or 1; where all targets of a batch are 0 or 1, each 0 counts as -1.

/// mean(max(1 - t p, 0)) over the last axis.
struct Hinge {
  static constexpr ClassText about{"Hinge",
                                   "Mean of max(1 - y_true · y_pred, 0) over the last axis, for targets -1 and 1."};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<Hinge> hinge;

/// mean(max(1 - t p, 0)²) over the last axis.
struct SquaredHinge {
  static constexpr ClassText about{"SquaredHinge",
                                   "Mean of max(1 - y_true · y_pred, 0)² over the last axis, for targets -1 and 1."};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<SquaredHinge> squared_hinge;

/// max(1 + max((1 - t) p) - sum(t p), 0) over the last axis, for targets 0 and 1.
struct CategoricalHinge {
  static constexpr ClassText about{"CategoricalHinge",
                                   "max(1 + max((1 - y_true) · y_pred) - sum(y_true · y_pred), 0) over the last axis."};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<CategoricalHinge> categorical_hinge;

}  // namespace etude::losses
