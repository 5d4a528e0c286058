// Trains one model in several processes: etude-launch -n 2 workers
#include <cmath>
#include <cstdio>
#include <etude/etude.hpp>

namespace {

using namespace etude;

/// Points in a plane, and whether each lies within a ring.
std::pair<Tensor, Tensor> points(std::int64_t count) {
  Tensor x({count, 2}), y({count, 1});
  Random random(1, RandomStream::step);
  for (std::int64_t i = 0; i < count; ++i) {
    const float a = 2 * random.uniform() - 1, b = 2 * random.uniform() - 1, radius = std::hypot(a, b);
    const auto at = static_cast<std::size_t>(i);
    x.data<float>()[2 * at] = a;
    x.data<float>()[2 * at + 1] = b;
    y.data<float>()[at] = radius > 0.4F && radius < 0.8F ? 1.0F : 0.0F;
  }
  return {x, y};
}

void train() {
  const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(connect_workers(cluster_from_environment()));
  const auto scope = strategy->scope();
  Sequential model({layers::dense({.units = 32, .activation = "relu"}),
                    layers::dense({.units = 32, .activation = "relu"}),
                    layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const auto [x, y] = points(2000);
  model.fit(x, y, {.batch_size = 64, .epochs = 20, .verbose = 0});
  const Logs logs = model.evaluate(x, y, {.verbose = 0});
  if (!strategy->is_chief()) return;
  std::printf("loss %.3f, accuracy %.2f\n", logs["loss"], logs["accuracy"]);
  model.save_weights("ring.weights.safetensors");
}

}  // namespace

int main() {
  try {
    train();
  } catch (const CollectiveError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
