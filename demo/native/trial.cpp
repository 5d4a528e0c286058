// Trains a model as a trial. Started again, it continues from its newest checkpoint.
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

void train(experiment::Context& context) {
  const experiment::Settings& hparams = context.info.trial.hparams;
  const std::int64_t units = hparams.integer("units", 32);
  const double rate = hparams.number("learning_rate", 0.01);
  if (units < 1) throw experiment::InvalidHP("units must be 1 or more");

  set_random_seed(context.info.trial.trial_seed);
  Sequential model({layers::dense({.units = units, .activation = "relu"}),
                    layers::dense({.units = units, .activation = "relu"}),
                    layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile({.optimizer = optimizers::adam({.learning_rate = rate}), .loss = "binary_crossentropy"});
  const auto [x, y] = points(2000);
  context.fit(model, x, y,
              {.epochs = 10, .verbose = 0, .validation_split = 0.2, .validation_freq = std::vector<int>{1, 2, 5, 10}},
              {.checkpoint_freq = "epoch"});

  const ModelPtr best = context.load_model_from_checkpoint(context.info.trial.trial_id);
  std::printf("loss of the best checkpoint: %.3f\n", best->evaluate(x, y, {.verbose = 0})["loss"]);
  const Dataset dataset = Dataset::from_tensor_slices({{x}, {}, {}}).batch(100);
  context.batch_process(*best, dataset, [&](const std::vector<Tensor>& outputs, const Batch&, std::int64_t index) {
    int inside = 0;
    for (const float probability : outputs[0].data<float>()) inside += probability > 0.5F;
    context.train.report_metrics("ring", index, {{"points", inside}});
  });
}

}  // namespace

int main() {
  experiment::Config config;
  config.storage = "ring";
  config.metric = "val_loss";
  return experiment::trial_main(train, config);
}
