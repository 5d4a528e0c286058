#include "etude/regularizers/regularizer.hpp"

#include <cmath>

#include "etude/base/backend.hpp"
#include "etude/classes/class_table.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::regularizers {
namespace {

void check_factor(const char* where, const char* name, double factor) {
  check(std::isfinite(factor) && factor >= 0, ErrorKind::value, where, name, " = ", factor,
        " - expected a number of 0 or more - set ", name, '.');
}

class L1L2Regularizer : public Regularizer {
 public:
  L1L2Regularizer(const char* where, const L1L2Options& options) : options_(options) {
    check_factor(where, "l1", options.l1);
    check_factor(where, "l2", options.l2);
  }
  Value operator()(Value x) const override {
    Value result;
    if (options_.l1 != 0) result = ops::sum(ops::absolute(x)) * options_.l1;
    if (options_.l2 != 0) {
      const Value squares = ops::sum(ops::square(x)) * options_.l2;
      result = result ? result + squares : squares;
    }
    return result ? result : ops::scalar(0, x);
  }

 private:
  L1L2Options options_;
};

class CosineRegularizer : public Regularizer {
 public:
  explicit CosineRegularizer(const OrthogonalOptions& options) : options_(options) {
    check_factor("OrthogonalRegularizer", "factor", options.factor);
    check(options.mode == "rows" || options.mode == "columns", ErrorKind::value, "OrthogonalRegularizer", "mode = \"",
          options.mode, "\" - expected \"rows\" or \"columns\" - choose one.");
  }
  Value operator()(Value x) const override {
    check(x.shape().rank() == 2, ErrorKind::shape, "OrthogonalRegularizer", "a weight of shape ", x.shape(),
          " - expected a matrix - use it for kernels of Dense layers.");
    const bool rows = options_.mode == "rows";
    const std::int64_t count = x.shape()[rows ? 0 : 1];
    check(count > 1, ErrorKind::shape, "OrthogonalRegularizer", "a weight of shape ", x.shape(),
          " - expected at least two ", options_.mode, " - omit the regularizer.");
    // Scaled to unit length, so that products are cosines.
    const Value norm = ops::sqrt(ops::sum(ops::square(x), {rows ? 1 : 0}, true));
    const Value unit = x / ops::maximum(norm, ops::scalar(epsilon(), x));
    const Value products = rows ? ops::matmul(unit, unit, false, true) : ops::matmul(unit, unit, true, false);
    // All elements of the diagonal are 1; each pair is counted once.
    const Value own = ops::sum(ops::square(unit));
    const auto pairs = static_cast<double>(count * (count - 1)) / 2;
    return (ops::sum(ops::absolute(products)) - own) * (0.5 * options_.factor / pairs);
  }

 private:
  OrthogonalOptions options_;
};

}  // namespace

RegularizerPtr L1::make(const L1Options& options) {
  return std::make_shared<L1L2Regularizer>("L1", L1L2Options{options.l1, 0});
}
RegularizerPtr L2::make(const L2Options& options) {
  return std::make_shared<L1L2Regularizer>("L2", L1L2Options{0, options.l2});
}
RegularizerPtr L1L2::make(const L1L2Options& options) { return std::make_shared<L1L2Regularizer>("L1L2", options); }
RegularizerPtr OrthogonalRegularizer::make(const OrthogonalOptions& options) {
  return std::make_shared<CosineRegularizer>(options);
}

RegularizerPtr get(const Choice<Regularizer>& choice) {
  if (choice.empty() || choice.object()) return choice.object();
  const ClassEntry& entry = class_table<Regularizer>().named(choice.name());
  if (&entry == &class_entry<L1L2>) return l1_l2({.l1 = 0.01, .l2 = 0.01});
  return make_of<Regularizer>(entry);
}

}  // namespace etude::regularizers
