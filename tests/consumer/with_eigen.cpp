#include <cmath>
#include <cstdio>

#include <etude/eigen.hpp>
#include <etude/etude.hpp>

// Fits a line through points that lie in matrices of Eigen, and reads the predictions as one.
int main() {
  using namespace etude;
  eigen::Matrix<float> x = eigen::Matrix<float>::Random(64, 3);
  const eigen::Vector<float> slopes = (eigen::Vector<float>(3) << 1, -2, 0.5f).finished();
  eigen::Matrix<float> y = x * slopes;

  Sequential model({layers::dense({.units = 1})});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.3f}), .loss = "mse"});
  model.fit(eigen::view(x), eigen::view(y), {.batch_size = 16, .epochs = 60, .verbose = 0});

  const Tensor predicted = model.predict(eigen::view(x), {.verbose = 0});
  const float error = (eigen::matrix<float>(predicted) - y).cwiseAbs().maxCoeff();
  std::printf("largest error %g\n", static_cast<double>(error));
  return error < 0.01f ? 0 : 1;
}
