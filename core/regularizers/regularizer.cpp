#include "etude/regularizers/regularizer.hpp"

#include <cmath>

#include "etude/base/catalogue.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::regularizers {
namespace {

void check_factor(const char* where, const char* name, double factor) {
  check(std::isfinite(factor) && factor >= 0, ErrorKind::value, where, name, " = ", factor,
        " - expected a number of 0 or more - set ", name, '.');
}

class L1L2 : public Regularizer {
 public:
  L1L2(const char* where, const L1L2Options& options) : options_(options) {
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

class Orthogonal : public Regularizer {
 public:
  explicit Orthogonal(const OrthogonalOptions& options) : options_(options) {
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
          " - expected at least two ", options_.mode, " - leave the regularizer out.");
    // Of unit length, so that products are cosines.
    const Value norm = ops::sqrt(ops::sum(ops::square(x), {rows ? 1 : 0}, true));
    const Value unit = x / ops::maximum(norm, ops::scalar(1e-7, x));
    const Value products = rows ? ops::matmul(unit, unit, false, true) : ops::matmul(unit, unit, true, false);
    // The diagonal is 1 throughout; each pair is counted once.
    const Value own = ops::sum(ops::square(unit));
    const auto pairs = static_cast<double>(count * (count - 1)) / 2;
    return (ops::sum(ops::absolute(products)) - own) * (0.5 * options_.factor / pairs);
  }

 private:
  OrthogonalOptions options_;
};

}  // namespace

RegularizerPtr l1(L1Options options) {
  return described("L1", options, std::make_shared<L1L2>("L1", L1L2Options{options.l1, 0}));
}
RegularizerPtr l2(L2Options options) {
  return described("L2", options, std::make_shared<L1L2>("L2", L1L2Options{0, options.l2}));
}
RegularizerPtr l1_l2(L1L2Options options) {
  return described("L1L2", options, std::make_shared<L1L2>("L1L2", options));
}
RegularizerPtr orthogonal(OrthogonalOptions options) {
  return described("OrthogonalRegularizer", options, std::make_shared<Orthogonal>(options));
}

RegularizerPtr get(const Choice<Regularizer>& choice) {
  static const Catalogue<RegularizerPtr (*)()> catalogue("regularizer",
                                                         {{"l1", [] { return l1(); }},
                                                          {"l2", [] { return l2(); }},
                                                          {"l1_l2", [] { return l1_l2({.l1 = 0.01, .l2 = 0.01}); }},
                                                          {"orthogonal_regularizer", [] { return orthogonal(); }}});
  if (choice.empty() || choice.object()) return choice.object();
  return catalogue.find(choice.name())();
}

}  // namespace etude::regularizers
