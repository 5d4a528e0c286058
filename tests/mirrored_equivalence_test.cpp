#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "mirrored_samples.hpp"
#include "support.hpp"

// The same global batches on one replica and on several give the same weights, losses and metrics, up to the order of
// sums.
namespace etude {
namespace {

using namespace samples;
using testing::FloatX;

constexpr std::int64_t rows = 47, batch_size = 10;  // the last batch has 7 rows
constexpr int epochs = 20;                          // 100 steps

/// Integers below `bound`; some are 0.
Tensor tokens(const Shape& shape, int bound) {
  Tensor tensor(shape);
  int at = 0;
  for (float& element : tensor.data<float>()) {
    at += 5;
    element = static_cast<float>(at * at % 7 % bound);
  }
  return tensor;
}

Choice<Initializer> seeded(std::int64_t seed) { return initializers::glorot_uniform({.seed = seed}); }

struct Scenario {
  const char* name;
  std::function<std::vector<LayerPtr>()> layers;
  Tensor x, y, sample_weight;
  std::function<Choice<Loss>()> loss = [] { return Choice<Loss>("mse"); };
};

const std::vector<Scenario>& scenarios() {
  const Tensor x = waves({rows, 6}), weight = filled({rows}, 0.5f);
  for (std::int64_t row = 0; row < rows; row += 3) Tensor(weight).data<float>()[static_cast<std::size_t>(row)] = 2;
  static const std::vector<Scenario> all{
      {"regularizers, dropout and noise, sample weights",
       [] {
         return std::vector<LayerPtr>{layers::dense({.units = 8,
                                                     .activation = "tanh",
                                                     .kernel_initializer = seeded(1),
                                                     .kernel_regularizer = regularizers::l2({.l2 = 0.01}),
                                                     .activity_regularizer = regularizers::l2({.l2 = 0.001})}),
                                      layers::dropout({.rate = 0.3, .seed = 5}), layers::layer_normalization(),
                                      layers::gaussian_noise({.stddev = 0.1, .seed = 6}),
                                      layers::dense({.units = 1, .kernel_initializer = seeded(2)})};
       },
       x, signs_of(x), weight},
      {"weights with constraints",
       [] {
         return std::vector<LayerPtr>{
             layers::dense({.units = 8,
                            .activation = "tanh",
                            .kernel_initializer = seeded(1),
                            .kernel_constraint = constraints::max_norm({.max_value = 0.5}),
                            .bias_constraint = "non_neg"}),
             layers::dense({.units = 1, .kernel_initializer = seeded(2), .kernel_constraint = "unit_norm"})};
       },
       x,
       signs_of(x),
       {}},
      {"weights that divide the loss", [] { return two_dense(); }, x, signs_of(x), weight,
       [] { return Choice<Loss>(losses::mean_squared_error({.reduction = "mean_with_sample_weight"})); }},
      {"a sum over the batch",
       [] { return two_dense(); },
       x,
       signs_of(x),
       {},
       [] { return Choice<Loss>(losses::mean_squared_error({.reduction = "sum"})); }},
      {"masked steps, each with a loss",
       [] {
         return std::vector<LayerPtr>{
             layers::embedding(
                 {.input_dim = 6, .output_dim = 4, .embeddings_initializer = seeded(3), .mask_zero = true}),
             layers::lstm({.units = 5,
                           .kernel_initializer = seeded(4),
                           .recurrent_initializer = seeded(5),
                           .return_sequences = true}),
             layers::dense({.units = 1, .kernel_initializer = seeded(6)})};
       },
       tokens({rows, 5}, 6),
       waves({rows, 5, 1}),
       {}},
      {"convolutions, and batches normalised as one",
       [] {
         return std::vector<LayerPtr>{
             layers::conv2d({.filters = 3, .kernel_size = 3, .kernel_initializer = seeded(7)}),
             layers::batch_normalization({.synchronized = true}),
             layers::activation("relu"),
             layers::max_pooling2d({.pool_size = 2}),
             layers::flatten(),
             layers::dense({.units = 1, .activation = "sigmoid", .kernel_initializer = seeded(8)})};
       },
       waves({rows, 6, 6, 2}),
       signs_of(waves({rows, 6, 6, 2})),
       {},
       [] { return Choice<Loss>("binary_crossentropy"); }},
      {"batches renormalized as one, and a kernel that steps normalize",
       [] {
         const LayerPtr last = layers::dense({.units = 1, .kernel_initializer = seeded(2)});
         return std::vector<LayerPtr>{layers::dense({.units = 8, .kernel_initializer = seeded(1)}),
                                      layers::batch_normalization({.renorm = true, .synchronized = true}),
                                      layers::activation("tanh"), layers::spectral_normalization(last)};
       },
       x,
       signs_of(x),
       {}},
      {"images that are changed at random",
       [] {
         return std::vector<LayerPtr>{
             layers::random_crop({.height = 5, .width = 5, .seed = 1}),
             layers::random_flip({.seed = 2}),
             layers::random_rotation({.factor = 0.1, .seed = 3}),
             layers::random_contrast({.factor = 0.3, .value_range = {-1, 1}, .seed = 4}),
             layers::random_erasing({.fill_value = 0, .value_range = {-1, 1}, .seed = 5}),
             layers::flatten(),
             layers::dense({.units = 1, .activation = "sigmoid", .kernel_initializer = seeded(9)})};
       },
       waves({rows, 6, 6, 2}),
       signs_of(waves({rows, 6, 6, 2})),
       {},
       [] { return Choice<Loss>("binary_crossentropy"); }},
      {"a loss of the batch as a whole",
       [] {
         std::vector<LayerPtr> layers = two_dense();
         layers.push_back(layers::activation("sigmoid"));
         return layers;
       },
       x,
       signs_of(x),
       {},
       [] { return Choice<Loss>("dice"); }},
      {"targets of which some are no signs",
       [] { return two_dense(); },
       x,
       signs_of(x),
       {},
       [] { return Choice<Loss>("hinge"); }},
  };
  return all;
}

struct Trained {
  std::vector<double> weights, history, predictions;
};

Trained train(const Scenario& scenario, const StrategyPtr& strategy, const std::function<OptimizerPtr()>& optimizer) {
  set_random_seed(3);
  const auto model = within(strategy, [&] {
    auto made = std::make_unique<Sequential>(scenario.layers());
    made->compile({.optimizer = optimizer(),
                   .loss = scenario.loss(),
                   .metrics = {"mae"},
                   .weighted_metrics = {metrics::mean_squared_error({.name = "weighted"})}});
    return made;
  });
  const auto comparison = std::make_shared<Comparison>();
  FitOptions options{.batch_size = batch_size, .epochs = epochs, .verbose = 0, .callbacks = {comparison}};
  options.validation_data = Data(scenario.x, scenario.y);
  const Data data =
      scenario.sample_weight ? Data(scenario.x, scenario.y, scenario.sample_weight) : Data(scenario.x, scenario.y);
  const HistoryPtr history = model->fit(data, options);
  CHECK(comparison->steps == 100);
  CHECK(comparison->differing == "");
  Trained result{weights_of(*model), {}, {}};
  for (const auto& [name, values] : history->history())
    result.history.insert(result.history.end(), values.begin(), values.end());
  result.predictions = numbers(model->predict(Data(scenario.x), {.batch_size = batch_size, .verbose = 0}));
  return result;
}

void check_alike(const std::function<OptimizerPtr()>& optimizer, double tolerance) {
  for (const Scenario& scenario : scenarios()) {
    const Trained one = train(scenario, std::make_shared<OneDeviceStrategy>(), optimizer);
    for (const int replicas : {1, 2, 3, 4}) {
      CAPTURE(scenario.name, replicas);
      const Trained several = train(scenario, mirrored(replicas), optimizer);
      CHECK(distance(several.weights, one.weights) < tolerance);
      CHECK(distance(several.history, one.history) < tolerance);
      CHECK(distance(several.predictions, one.predictions) < tolerance);
    }
  }
}

}  // namespace

TEST_CASE("replicas: SGD in float32 trains as on one replica, to 1e-6 after 100 steps", "[mirrored]") {
  check_alike([] { return optimizers::sgd({.learning_rate = 0.01}); }, 1e-6);
}

TEST_CASE("replicas: RMSprop and Adam in float64 train as on one replica, to 1e-9 after 100 steps", "[mirrored]") {
  const FloatX wide(DType::float64);
  check_alike([] { return optimizers::rmsprop({.learning_rate = 0.001}); }, 1e-9);
  check_alike([] { return optimizers::adam({.learning_rate = 0.001}); }, 1e-9);
}

TEST_CASE("replicas: clipping, decay, averages and accumulation use the gradients of the whole batch", "[mirrored]") {
  check_alike([] { return optimizers::sgd({.learning_rate = 0.01, .weight_decay = 0.01, .clipnorm = 0.1}); }, 1e-6);
  check_alike(
      [] {
        return optimizers::sgd({.learning_rate = 0.01,
                                .momentum = 0.5,
                                .global_clipnorm = 0.2,
                                .use_ema = true,
                                .gradient_accumulation_steps = 2});
      },
      1e-6);
}

}  // namespace etude
