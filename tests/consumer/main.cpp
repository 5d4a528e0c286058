#include <cmath>
#include <cstdio>

#include <etude/etude.hpp>

// Learns exclusive or, which a library linked without its kernels, or with another layout than its headers', would not.
int main() {
  using namespace etude;
  const Tensor x = Tensor::from<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Tensor y = Tensor::from<float>({4, 1}, {0, 1, 1, 0});

  Sequential model(
      {layers::dense({.units = 8, .activation = "tanh"}), layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.1f}), .loss = "binary_crossentropy"});
  model.fit(x, y, {.batch_size = 4, .epochs = 200, .verbose = 0});

  const Tensor predicted = model.predict(x, {.verbose = 0});
  for (int row = 0; row < 4; ++row) {
    std::printf("%g xor %g = %.3f\n", x.at(2 * row), x.at(2 * row + 1), predicted.at(row));
    if (std::abs(predicted.at(row) - y.at(row)) > 0.2) return 1;
  }
}
