#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/initializers/detail/orthonormal.hpp"
#include "etude/initializers/detail/seeded.hpp"

namespace etude::initializers {
namespace {

// In a factorization, one different last bit changes all results, and C libraries differ in the last bits of logarithms
// and cosines. These functions use only operations that IEEE 754 defines to the bit.

/// For finite x > 0: 2 artanh((m - 1) / (m + 1)) of x = m 2^e, and e log 2.
double natural_logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int k = 23; k > 0; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * std::numbers::ln2;
}

/// cos(2 pi x) for x in [0, 1]: the sine of the distance to the next quarter, by its series.
double cosine_of_turns(double x) {
  const double angle = 2 * std::numbers::pi * (std::abs(x - 0.5) - 0.25), square = angle * angle;
  double sum = 1;
  for (int k = 22; k > 0; k -= 2) sum = 1 - sum * square / (k * (k + 1));
  return angle * sum;
}

/// Random::normal() to about 15 digits, and the same bits on every target.
double standard_normal(Random& random) {
  const double radius = std::sqrt(-2 * natural_logarithm(1 - static_cast<double>(random.uniform())));
  return radius * cosine_of_turns(static_cast<double>(random.uniform()));
}

class OrthogonalInitializer : public Seeded {
 public:
  explicit OrthogonalInitializer(const OrthogonalOptions& options) : Seeded(options.seed), gain_(options.gain) {}

  Tensor operator()(const Shape& shape, DType dtype) override {
    check(shape.rank() >= 2, ErrorKind::shape, "orthogonal", "shape ", shape,
          " - expected a matrix, or more axes - use another initializer.");
    Random random = begin();
    Tensor tensor(shape, dtype);
    if (tensor.size() == 0) return tensor;
    const std::int64_t columns = shape[-1], rows = tensor.size() / columns;
    const std::int64_t longer = std::max(rows, columns), shorter = std::min(rows, columns);
    std::vector<double> q(static_cast<std::size_t>(longer * shorter)), row(static_cast<std::size_t>(columns));
    for (std::int64_t j = 0; j < shorter; ++j)
      for (std::int64_t i = 0; i < longer; ++i) q[static_cast<std::size_t>(i * shorter + j)] = standard_normal(random);
    orthonormalize(q, longer, shorter);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j)
        row[static_cast<std::size_t>(j)] =
            gain_ * q[static_cast<std::size_t>(rows < columns ? j * shorter + i : i * shorter + j)];
      write_numbers(row, dtype, tensor.raw() + static_cast<std::size_t>(i * columns) * size_of(dtype));
    }
    return tensor;
  }

 private:
  double gain_;
};

}  // namespace

InitializerPtr Orthogonal::make(const OrthogonalOptions& options) {
  return std::make_shared<OrthogonalInitializer>(options);
}

}  // namespace etude::initializers
