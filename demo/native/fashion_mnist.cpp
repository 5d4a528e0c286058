// Trains Keras's first model on Fashion-MNIST. The first lines are the README's.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <etude/etude.hpp>

int main() {
  using namespace etude;
  const char* given = std::getenv("ETUDE_FASHION_MNIST");
  const std::string folder = given ? given : "/usr/share/datasets/fashion-mnist";
  const Tensor x = read_idx(folder + "/train-images-idx3-ubyte.gz"), y = read_idx(folder + "/train-labels-idx1-ubyte.gz");
  const Tensor x_test = read_idx(folder + "/t10k-images-idx3-ubyte.gz"), y_test = read_idx(folder + "/t10k-labels-idx1-ubyte.gz");
  set_random_seed(42);

  Sequential model({layers::rescaling({.scale = 1 / 255.0}), layers::flatten(),
                    layers::dense({.units = 512, .activation = "relu"}), layers::dense({.units = 10, .activation = "softmax"})});
  model.compile({.optimizer = "rmsprop", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const auto start = std::chrono::steady_clock::now();
  const HistoryPtr history = model.fit(x, y, {.batch_size = 128, .epochs = 5});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const Logs test = model.evaluate(x_test, y_test, {.batch_size = 128});

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(R"({"target": "native", "test_accuracy": %.4f, "final_loss": %.6f, "samples_per_s": %.0f, "peak_memory_mb": %.0f})" "\n",
              test["accuracy"], (*history)["loss"].back(), 5 * 60000 / seconds.count(), static_cast<double>(usage.ru_maxrss) / 1024);
}
