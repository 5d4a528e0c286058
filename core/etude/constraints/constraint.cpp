#include "etude/constraints/constraint.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/classes/class_table.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::constraints {
namespace {

/// All constraints of norms.
class NormConstraint : public Constraint {
 public:
  NormConstraint(const char* where, const MinMaxNormOptions& options) : where_(where), options_(options) {
    const auto check_number = [&](const char* name, double number) {
      check(std::isfinite(number) && number >= 0, ErrorKind::value, where, name, " = ", number,
            " - expected a finite number of 0 or more - set ", name, '.');
    };
    check_number("min_value", options.min_value);
    check_number("max_value", options.max_value);
    check_number("rate", options.rate);
    check(options.min_value <= options.max_value, ErrorKind::value, where, "min_value = ", options.min_value,
          ", max_value = ", options.max_value, " - expected a min_value up to max_value - set both.");
    check(options.rate <= 1, ErrorKind::value, where, "rate = ", options.rate,
          " - expected a number from 0 to 1 - set rate.");
  }

  Value operator()(Value weight) const override {
    const auto& [least, most, rate, axis] = options_;
    const Value x = ops::upcast(weight);
    std::vector<std::ptrdiff_t> axes;
    for (const std::int64_t each : axis.all())
      axes.push_back(static_cast<std::ptrdiff_t>(x.shape().axis(static_cast<std::ptrdiff_t>(each), where_)));
    const Value norm = ops::sqrt(ops::sum(ops::square(x), axes, true));
    Value wanted = ops::clip(norm, least, most);
    if (rate < 1) wanted = wanted * rate + norm * (1 - rate);
    return ops::cast(x * (wanted / (norm + epsilon())), weight.dtype());
  }

 private:
  const char* where_;
  MinMaxNormOptions options_;
};

class NonNegConstraint : public Constraint {
 public:
  Value operator()(Value weight) const override { return ops::relu(weight); }
};

class RingConstraint : public Constraint {
 public:
  Value operator()(Value weight) const override {
    const Shape& shape = weight.shape();
    check(shape.rank() == 4 && shape[0] == shape[1], ErrorKind::shape, RadialConstraint::about.name,
          "a weight of shape ", shape, " - expected [n, n, channels, filters] - use it for square kernels of Conv2D.");
    const std::int64_t n = shape[0], cells = n * n;
    if (weight.shape().size() == 0) return weight;
    // The cell on the diagonal with the distance of each cell to the center.
    Tensor source({cells}, DType::int32);
    const auto data = source.data<std::int32_t>();
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const auto from_start = [&](std::int64_t at) { return std::max(at, n - 1 - at); };
      const std::int64_t ring = std::max(from_start(cell / n), from_start(cell % n));
      // The center of an even n has two cells on the diagonal: the first, as in tf_keras.
      const std::int64_t on_diagonal = 2 * ring == n ? ring - 1 : ring;
      data[static_cast<std::size_t>(cell)] = static_cast<std::int32_t>(on_diagonal * (n + 1));
    }
    const Value rows = ops::reshape(weight, {cells, shape[2] * shape[3]});
    const Value places = weight.graph().read(Variable("radial_constraint", source, false));
    return ops::reshape(weight.graph().append(op::Gather{}, {rows, places}), shape);
  }
};

}  // namespace

ConstraintPtr MaxNorm::make(const MaxNormOptions& o) {
  return std::make_shared<NormConstraint>(about.name, MinMaxNormOptions{0, o.max_value, 1, o.axis});
}
ConstraintPtr MinMaxNorm::make(const MinMaxNormOptions& options) {
  return std::make_shared<NormConstraint>(about.name, options);
}
ConstraintPtr UnitNorm::make(const UnitNormOptions& options) {
  return std::make_shared<NormConstraint>(about.name, MinMaxNormOptions{1, 1, 1, options.axis});
}
ConstraintPtr NonNeg::make(const NoOptions&) { return std::make_shared<NonNegConstraint>(); }
ConstraintPtr RadialConstraint::make(const NoOptions&) { return std::make_shared<RingConstraint>(); }

ConstraintPtr get(const Choice<Constraint>& choice) {
  if (choice.empty() || choice.object()) return choice.object();
  return make_of<Constraint>(class_table<Constraint>().named(choice.name()));
}

}  // namespace etude::constraints
