// Keras's first model on Fashion-MNIST. The README shows the part between the two marks.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>

// README
#include <etude/etude.hpp>

int main() {
  using namespace etude;
  set_random_seed(42);
  const std::string folder = "/usr/share/datasets/fashion-mnist/";
  const Tensor x = read_idx(folder + "train-images-idx3-ubyte.gz"), y = read_idx(folder + "train-labels-idx1-ubyte.gz");

  Sequential model({layers::rescaling({.scale = 1 / 255.0}), layers::flatten(),
                    layers::dense({.units = 512, .activation = "relu"}),
                    layers::dense({.units = 10, .activation = "softmax"})});
  model.compile({.optimizer = "rmsprop", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const auto history = model.fit(x, y, {.batch_size = 128, .epochs = 5});
  // README
  // The rest measures the values in the table of ./dev demo.
  const Tensor x_test = read_idx(folder + "t10k-images-idx3-ubyte.gz");
  const Tensor y_test = read_idx(folder + "t10k-labels-idx1-ubyte.gz");
  const Logs test = model.evaluate(x_test, y_test, {.batch_size = 128});
  const auto start = std::chrono::steady_clock::now();
  model.compile(model.compile_options());
  model.fit(x, y, {.batch_size = 128, .verbose = 0});
  const std::chrono::duration<double> epoch = std::chrono::steady_clock::now() - start;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(R"({"target": "native", "test_accuracy": %.4f, "final_loss": %.6f, "samples_per_s": %.0f, )"
              R"("peak_memory_mb": %.0f})"
              "\n",
              test["accuracy"], (*history)["loss"].back(), static_cast<double>(x.shape()[0]) / epoch.count(),
              static_cast<double>(usage.ru_maxrss) / 1024);
}
