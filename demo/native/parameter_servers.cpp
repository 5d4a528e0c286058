// Trains a model by workers, while parameter servers keep its variables: each process with its own TF_CONFIG.
#include <cmath>
#include <cstdio>
#include <etude/etude.hpp>

namespace {

using namespace etude;

/// Points in a plane, and whether each lies within a ring. Each worker has other ones.
Dataset points(const InputContext& context) {
  Tensor x({2048, 2}), y({2048, 1});
  Random random(1, RandomStream::step, static_cast<std::uint32_t>(context.input_pipeline_id));
  for (std::size_t i = 0; i < 2048; ++i) {
    const float a = 2 * random.uniform() - 1, b = 2 * random.uniform() - 1, radius = std::hypot(a, b);
    x.data<float>()[2 * i] = a;
    x.data<float>()[2 * i + 1] = b;
    y.data<float>()[i] = radius > 0.4F && radius < 0.8F ? 1.0F : 0.0F;
  }
  return Dataset::from_tensor_slices({.x = {x}, .y = {y}, .sample_weight = {}}).batch(64).repeat();
}

void run() {
  const auto strategy = std::make_shared<ParameterServerStrategy>(
      server_cluster_from_environment(), ParameterServerOptions{.variable_partitioner = fixed_shards_partitioner(2)});
  const auto scope = strategy->scope();
  Sequential model({layers::dense({.units = 32, .activation = "relu"}),
                    layers::dense({.units = 32, .activation = "relu"}),
                    layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile(
      {.optimizer = optimizers::adam({.learning_rate = 0.01}), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const DatasetCreator train{.dataset_fn = points, .name = "train"};
  if (!strategy->is_chief()) return strategy->serve(model, {train});
  model.fit(train, {.epochs = 10, .verbose = 0, .steps_per_epoch = 64});
  const Logs logs = model.evaluate(train, {.verbose = 0, .steps = 32});
  std::printf("accuracy %.2f\n", logs["accuracy"]);
  model.save_weights("ring.weights.safetensors");
}

}  // namespace

int main() {
  try {
    run();
  } catch (const UnavailableError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
