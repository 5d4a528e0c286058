#include "workloads.hpp"

#include <cmath>
#include <numbers>

#include "../fashion_mnist.hpp"

namespace {

using etude::Tensor;
namespace layers = etude::layers;

/// 784-512-10 on Fashion-MNIST, as in Keras's first example.
Workload mlp() {
  auto model = std::make_shared<etude::Sequential>(std::vector{layers::dense({.units = 512, .activation = "relu"}),
                                                               layers::dense({.units = 10, .activation = "softmax"})});
  return {model,
          {.optimizer = "rmsprop", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}},
          etude::fashion_mnist::images(),
          etude::fashion_mnist::labels(),
          128,
          469};
}

/// 2-16-16-1 on two spirals: point i of arm a has radius i/256 and angle 3.5 pi r + a pi; sample 2i + a.
Workload tiny() {
  Tensor x({512, 2}), y({512, 1});
  for (int i = 0; i < 256; ++i)
    for (int arm = 0; arm < 2; ++arm) {
      const double r = i / 256.0, angle = (3.5 * r + arm) * std::numbers::pi;
      const auto row = static_cast<std::size_t>(2 * i + arm);
      x.data<float>()[2 * row] = static_cast<float>(r * std::cos(angle));
      x.data<float>()[2 * row + 1] = static_cast<float>(r * std::sin(angle));
      y.data<float>()[row] = static_cast<float>(arm);
    }
  auto model = std::make_shared<etude::Sequential>(std::vector{layers::dense({.units = 16, .activation = "tanh"}),
                                                               layers::dense({.units = 16, .activation = "tanh"}),
                                                               layers::dense({.units = 1, .activation = "sigmoid"})});
  return {model, {.optimizer = etude::optimizers::sgd({.learning_rate = 0.1}), .loss = "binary_crossentropy"}, x, y, 32,
          32000};
}

}  // namespace

std::vector<std::string> workload_names() { return {"mlp", "tiny"}; }

Workload make_workload(const std::string& name) {
  etude::check(name == "mlp" || name == "tiny", etude::ErrorKind::value, "bench", "workload \"", name,
               "\" - expected mlp or tiny - choose one.");
  return name == "mlp" ? mlp() : tiny();
}
