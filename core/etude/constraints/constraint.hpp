#pragma once

#include <memory>

#include "etude/base/choice.hpp"
#include "etude/base/integers.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// A function of a weight that an optimizer applies after each update (O-20).
/// Source: keras/src/constraints/constraints.py.
class Constraint : public Described, public VariableConstraint {
 public:
  using Kind = Constraint;
};
using ConstraintPtr = std::shared_ptr<Constraint>;

namespace constraints {

struct MaxNormOptions {
  double max_value = 2;
  Integers axis = 0;
  template <class O = MaxNormOptions> static constexpr auto fields() {
    return option_rows(option<&O::max_value>("Largest norm."),
                       option<&O::axis>("Axes of the weight over which a norm is computed."));
  }
};
struct MinMaxNormOptions {
  double min_value = 0, max_value = 1, rate = 1;
  Integers axis = 0;
  template <class O = MinMaxNormOptions> static constexpr auto fields() {
    return option_rows(option<&O::min_value>("Smallest norm."), option<&O::max_value>("Largest norm."),
                       option<&O::rate>("Fraction of the way to these bounds that a step goes, from 0 to 1."),
                       option<&O::axis>("Axes of the weight over which a norm is computed."));
  }
};
struct UnitNormOptions {
  Integers axis = 0;
  template <class O = UnitNormOptions> static constexpr auto fields() {
    return option_rows(option<&O::axis>("Axes of the weight over which a norm is computed."));
  }
};

// Constraints of norms scale the vectors along `axis`: 0 for those of a Dense kernel that lead to one unit, {0, 1, 2}
// for the filters of a Conv2D kernel. They divide by the norm + epsilon(). Each throws Error(value) for numbers
// that are negative or not finite, and Error(shape) in the first step for an axis that the weight does not have.

/// x · min(norm, max_value) / norm.
struct MaxNorm {
  static constexpr ClassText about{"MaxNorm", "Limits norms to max_value."};
  static ConstraintPtr make(const MaxNormOptions& options);
};
inline constexpr Factory<MaxNorm> max_norm;

/// x · (rate · (norm limited to [min_value, max_value]) + (1 - rate) · norm) / norm. Also throws Error(value) for a
/// min_value above max_value and a rate above 1.
struct MinMaxNorm {
  static constexpr ClassText about{"MinMaxNorm", "Limits norms to the interval from min_value to max_value."};
  static ConstraintPtr make(const MinMaxNormOptions& options);
};
inline constexpr Factory<MinMaxNorm> min_max_norm;

/// x / norm.
struct UnitNorm {
  static constexpr ClassText about{"UnitNorm", "Scales norms to 1."};
  static ConstraintPtr make(const UnitNormOptions& options);
};
inline constexpr Factory<UnitNorm> unit_norm;

/// max(x, 0).
struct NonNeg {
  static constexpr ClassText about{"NonNeg", "Replaces negative numbers by 0."};
  static ConstraintPtr make(const NoOptions& options);
};
inline constexpr Factory<NonNeg> non_neg;

/// A kernel [n, n, channels, filters] with equal values in each square ring around its center: that of the ring's last
/// cell on the diagonal, in the center of the first one. Throws Error(shape) in the first step for another shape.
/// Source: tf_keras/src/constraints.py, which takes the values of an odd n one cell earlier, so that they move at each
/// update.
struct RadialConstraint {
  static constexpr ClassText about{"RadialConstraint",
                                   "Gives kernels of Conv2D equal values in each ring around the center."};
  static ConstraintPtr make(const NoOptions& options);
};
inline constexpr Factory<RadialConstraint> radial_constraint;

/// The family of constraints. To add a constraint, add it here.
using Constraints = ClassList<MaxNorm, MinMaxNorm, UnitNorm, NonNeg, RadialConstraint>;

/// Finds a constraint by name, or returns the object; null for an empty choice. Throws Error(value), listing all names,
/// for an unknown name.
ConstraintPtr get(const Choice<Constraint>& choice);

}  // namespace constraints
}  // namespace etude
