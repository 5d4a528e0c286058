#include "etude/eigen.hpp"

#include <catch2/catch_test_macros.hpp>

#include "etude/etude.hpp"
#include "support.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

/// x + 2 y, learned from a matrix of examples.
Tensor trained(const Tensor& x, const Tensor& y) {
  set_random_seed(4);
  Sequential model({layers::dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(x, y, {.batch_size = 2, .epochs = 3, .verbose = 0});
  return model.predict(x, {.verbose = 0});
}

}  // namespace

TEST_CASE("a Tensor as a matrix, a vector or a tensor of Eigen shares its memory", "[eigen]") {
  Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor& fixed = x;
  auto matrix = eigen::matrix<float>(x);
  CHECK(matrix.data() == x.data<float>().data());
  CHECK(matrix(1, 0) == 4);
  matrix(0, 2) = 30;
  CHECK(x.at(2) == 30);
  CHECK(eigen::matrix<float>(fixed).row(0).sum() == 33);
  CHECK(eigen::tensor<float, 2>(fixed)(1, 2) == 6);

  Tensor counts = Tensor::from<std::int32_t>({3}, {1, 2, 3});
  eigen::vector<std::int32_t>(counts) *= 2;
  CHECK(numbers(counts) == std::vector<double>{2, 4, 6});

  Tensor cube = Tensor::from<double>({2, 1, 2}, {1, 2, 3, 4});
  eigen::tensor<double, 3>(cube)(1, 0, 0) = 30;
  CHECK(cube.at(2) == 30);
}

TEST_CASE("a view of another rank or dtype is an Error", "[eigen]") {
  Tensor x({2, 3});
  CHECK(error_of([&] { eigen::vector<float>(x); }) ==
        "[eigen::vector] a Tensor of shape [2, 3] - expected 1 axis - reshape the Tensor.");
  CHECK(kind_of([&] { eigen::tensor<float, 3>(x); }) == ErrorKind::shape);
  CHECK(kind_of([&] { eigen::matrix<double>(x); }) == ErrorKind::dtype);
}

TEST_CASE("a Tensor of a matrix of Eigen shares its memory, if rows are contiguous", "[eigen]") {
  eigen::Matrix<float> x(3, 2);
  x << 1, 2, 3, 4, 5, 6;
  Tensor tensor = eigen::view(x);
  CHECK(tensor.raw() == reinterpret_cast<std::byte*>(x.data()));
  CHECK(tensor.shape() == Shape{3, 2});
  tensor.data<float>()[1] = 20;
  CHECK(x(0, 1) == 20);

  const eigen::Matrix<float>& fixed = x;
  CHECK(numbers(eigen::view(fixed.bottomRows(2))) == std::vector<double>{3, 4, 5, 6});
  CHECK(error_of([&] { eigen::view(x.leftCols(1)); }) ==
        "[eigen::view] rows that lie 2 elements apart, columns 1 - expected 1 and 1, without gaps - use eigen::copy.");
  CHECK(numbers(eigen::copy(x.leftCols(1))) == std::vector<double>{1, 3, 5});

  Eigen::VectorXd column(3);
  column << 1, 2, 3;
  CHECK(eigen::view(column).shape() == Shape{3});
  CHECK(eigen::view(column).dtype() == DType::float64);
  Eigen::Tensor<std::int32_t, 3, Eigen::RowMajor> cube(1, 2, 2);
  cube.setValues({{{1, 2}, {3, 4}}});
  CHECK(eigen::view(cube).raw() == reinterpret_cast<std::byte*>(cube.data()));
  CHECK(numbers(eigen::view(cube)) == std::vector<double>{1, 2, 3, 4});
  CHECK(eigen::view(cube).shape() == Shape{1, 2, 2});
}

TEST_CASE("a Tensor made from a moved matrix of Eigen keeps its memory", "[eigen]") {
  eigen::Matrix<double> x = eigen::Matrix<double>::Constant(40, 3, 7);
  const double* data = x.data();
  const Tensor tensor = eigen::consume(std::move(x));
  CHECK(tensor.data<double>().data() == data);
  CHECK(tensor.shape() == Shape{40, 3});
  CHECK(tensor.at(119) == 7);
}

TEST_CASE("a copy has the elements of a matrix in either storage order, or of an expression", "[eigen]") {
  Eigen::MatrixXf x(2, 3);  // column-major
  x << 1, 2, 3, 4, 5, 6;
  CHECK(numbers(eigen::copy(x)) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(eigen::copy(x).shape() == Shape{2, 3});
  CHECK(numbers(eigen::copy(2 * x.transpose())) == std::vector<double>{2, 8, 4, 10, 6, 12});
  CHECK(numbers(eigen::copy(x.array().square())) == std::vector<double>{1, 4, 9, 16, 25, 36});
  Eigen::Tensor<float, 3> cube(2, 1, 3);
  cube.setValues({{{1, 2, 3}}, {{4, 5, 6}}});
  CHECK(numbers(eigen::copy(cube)) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(eigen::copy(cube).shape() == Shape{2, 1, 3});
}

TEST_CASE("a model trained on matrices of Eigen has the bits of one trained on Tensors", "[eigen]") {
  Random random = draws(1);
  const Tensor x = random_tensor(random, {7, 2}, DType::float32), y = random_tensor(random, {7, 1}, DType::float32);
  eigen::Matrix<float> inputs = eigen::matrix<float>(x), targets = eigen::matrix<float>(y);
  const Tensor predicted = trained(eigen::view(inputs), eigen::view(targets));
  CHECK(same_bits(predicted, trained(x, y)));
  CHECK(eigen::matrix<float>(predicted).rows() == 7);
}
