#include <Eigen/Dense>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <numeric>

#include "etude/base/detail/crc32c.hpp"
#include "etude/eigen.hpp"
#include "etude/etude.hpp"
#include "etude/initializers/detail/orthonormal.hpp"
#include "support.hpp"

using namespace etude;
using namespace etude::testing;
using Catch::Matchers::WithinAbs;

namespace {

Tensor normal_draws(std::int64_t rows, std::int64_t columns, std::uint64_t seed = 1) {
  Tensor tensor({rows, columns}, DType::float64);
  Random random = draws(seed);
  for (double& x : tensor.data<double>()) x = random.normal();
  return tensor;
}

Tensor orthonormal(Tensor a) {
  a = a.clone();
  initializers::orthonormalize(a.data<double>(), a.shape()[0], a.shape()[1]);
  return a;
}

/// Q by Eigen, with Keras's signs: R's diagonal is not negative.
eigen::Matrix<double> q_of_eigen(const Tensor& a) {
  const Eigen::HouseholderQR<eigen::Matrix<double>> qr(eigen::matrix<double>(a));
  eigen::Matrix<double> q =
      qr.householderQ() * eigen::Matrix<double>::Identity(qr.matrixQR().rows(), qr.matrixQR().cols());
  for (Eigen::Index j = 0; j < q.cols(); ++j)
    if (qr.matrixQR()(j, j) < 0) q.col(j) *= -1;
  return q;
}

double largest(const eigen::Matrix<double>& matrix) { return matrix.cwiseAbs().maxCoeff(); }

}  // namespace

// numpy 2.4.6: q, r = np.linalg.qr(a); q * np.sign(np.diag(r)), the computation of keras.initializers.Orthogonal.
TEST_CASE("Q of a factorization matches NumPy's, with Keras's signs", "[initializers][orthogonal]") {
  const Tensor q = orthonormal(Tensor::from<double>({5, 3}, {1, -2, 0.5, 3, 1, -1, -2, 0.25, 4, 0.5, 2, -3, 1, 1, 1}));
  CHECK(
      difference(numbers(q),
                 std::vector<double>{0.25607375986579184, -0.6964990094784869, 0.06706737056666097, 0.7682212795973759,
                                     0.163571737074493, 0.33113641770415386, -0.5121475197315839, 0.1859968945766414,
                                     0.6715620152105397, 0.12803687993289598, 0.6173513947650225, -0.43169305807694913,
                                     0.25607375986579195, 0.26910189002577906, 0.49849393578043133},
                 {1e-15, 1e-14}) == "");
}

TEST_CASE("Q of a factorization matches Eigen's, for matrices of any size", "[initializers][orthogonal][eigen]") {
  for (const auto& [rows, columns] : {std::pair{1, 1},
                                      {2, 1},
                                      {9, 9},
                                      {31, 31},
                                      {32, 32},
                                      {33, 33},
                                      {40, 33},
                                      {65, 64},
                                      {200, 3},
                                      {300, 97},
                                      {129, 129}}) {
    INFO(rows << " x " << columns);
    const Tensor a = normal_draws(rows, columns), q = orthonormal(a);
    const auto matrix = eigen::matrix<double>(q);
    CHECK(largest(matrix.transpose() * matrix - eigen::Matrix<double>::Identity(columns, columns)) < 1e-13);
    CHECK(largest(matrix - q_of_eigen(a)) < 1e-11);
  }
}

TEST_CASE("columns of zeros, or equal ones, still give an orthonormal Q", "[initializers][orthogonal]") {
  Tensor a = normal_draws(50, 40);
  auto matrix = eigen::matrix<double>(a);
  matrix.col(0).setZero();
  matrix.col(7).setZero();
  matrix.col(35) = matrix.col(34);
  const Tensor q = orthonormal(a);
  const auto columns = eigen::matrix<double>(q);
  CHECK(largest(columns.transpose() * columns - eigen::Matrix<double>::Identity(40, 40)) < 1e-13);
}

TEST_CASE("orthogonal weights have the same bits on one thread and on several", "[initializers][orthogonal][threads]") {
  const Tensor a = normal_draws(400, 300);
  const auto on = [&](int count) {
    const Threads scope(count);
    return orthonormal(a);
  };
  CHECK(same_bits(on(1), on(2)));
  CHECK(same_bits(on(1), on(3)));
}

TEST_CASE("orthogonal weights have fixed bits on every target", "[initializers][orthogonal]") {
  const Tensor tall = (*initializers::orthogonal({.seed = 3}))({211, 130}, DType::float64),
               wide = (*initializers::orthogonal({.gain = 0.5, .seed = 4}))({48, 192}, DType::float32);
  CHECK(crc32c(std::as_bytes(std::span(tall.raw(), tall.bytes()))) == 0x8f6ddd39);
  CHECK(crc32c(std::as_bytes(std::span(wide.raw(), wide.bytes()))) == 0x1e25887e);
}

TEST_CASE("orthogonal weights are the normal draws of their seed, orthonormalised column by column",
          "[initializers][orthogonal]") {
  Random random(6, RandomStream::initializer);
  std::vector<std::vector<double>> lines(24, std::vector<double>(70));
  for (auto& line : lines)
    for (double& x : line) x = random.normal();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (int pass = 0; pass < 2; ++pass)  // a single pass leaves rounding errors
      for (std::size_t j = 0; j < i; ++j) {
        const double along = std::inner_product(lines[i].begin(), lines[i].end(), lines[j].begin(), 0.0);
        for (std::size_t k = 0; k < 70; ++k) lines[i][k] -= along * lines[j][k];
      }
    const double length = std::sqrt(std::inner_product(lines[i].begin(), lines[i].end(), lines[i].begin(), 0.0));
    for (double& x : lines[i]) x /= length;
  }
  const Tensor wide = (*initializers::orthogonal({.seed = 6}))({24, 70}, DType::float64),
               tall = (*initializers::orthogonal({.seed = 6}))({70, 24}, DType::float64);
  for (std::size_t i = 0; i < 24; ++i)
    for (std::size_t k = 0; k < 70; ++k) {
      CHECK_THAT(wide.data<double>()[i * 70 + k], WithinAbs(lines[i][k], 1e-13));
      CHECK_THAT(tall.data<double>()[k * 24 + i], WithinAbs(lines[i][k], 1e-13));
    }
}

// keras 3.15.1: Orthogonal(gain=2) of these shapes has w^T w, or w w^T, of 4 times the identity; (0, 3) is empty.
TEST_CASE("orthogonal uses all axes but the last as rows, and scales by its gain", "[initializers][orthogonal]") {
  for (const Shape& shape : {Shape{6, 4}, Shape{4, 6}, Shape{2, 3, 4}, Shape{2, 2, 8}, Shape{1, 1}, Shape{3, 3, 8, 16}})
    for (const DType dtype : {DType::float32, DType::float64}) {
      INFO(shape << ' ' << dtype);
      const Tensor weight = (*initializers::orthogonal({.gain = 2, .seed = 1}))(shape, dtype);
      CHECK(weight.dtype() == dtype);
      const Tensor flat = weight.astype(DType::float64).reshape({shape.size() / shape[-1], shape[-1]});
      const Eigen::JacobiSVD<eigen::Matrix<double>> svd(eigen::matrix<double>(flat));
      CHECK((svd.singularValues().array() - 2).abs().maxCoeff() < (dtype == DType::float32 ? 1e-6 : 1e-13));
    }
  CHECK((*initializers::orthogonal())({0, 3}, DType::float32).shape() == Shape{0, 3});
  CHECK((*initializers::orthogonal())({3, 0}, DType::float32).shape() == Shape{3, 0});
  CHECK(kind_of([] { (*initializers::orthogonal())({3}, DType::float32); }) == ErrorKind::shape);
}
