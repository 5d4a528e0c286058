#include <catch2/catch_test_macros.hpp>

#include "etude/etude.hpp"
#include "training_samples.hpp"

// Models with steps of their own, and losses that compare samples or sequences, learn synthetic tasks.
using namespace etude;
using namespace etude::samples;

namespace {

std::shared_ptr<Sequential> network(std::vector<LayerPtr> layers) {
  return std::make_shared<Sequential>(std::move(layers));
}
LayerPtr hidden(std::int64_t units) { return layers::dense({.units = units, .activation = "tanh"}); }
LayerPtr linear(std::int64_t units) { return layers::dense({.units = units}); }

/// Points [count, 2] on a circle of radius 2.
Tensor ring(std::int64_t count) {
  Tensor points({count, 2});
  for (std::int64_t i = 0; i < count; ++i) {
    const double angle = static_cast<double>(i) * 0.7;
    points.data<float>()[static_cast<std::size_t>(2 * i)] = static_cast<float>(2 * std::cos(angle));
    points.data<float>()[static_cast<std::size_t>(2 * i + 1)] = static_cast<float>(2 * std::sin(angle));
  }
  return points;
}

FitOptions epochs(int count) { return {.batch_size = 32, .epochs = count, .verbose = 0}; }

/// Encodes points as a distribution, and restores them from a draw.
class VariationalAutoencoder : public Model {
 public:
  std::vector<LayerPtr> layers() const override { return {encoder_, decoder_, noise_}; }
  std::vector<MetricPtr> metrics() const override { return {restored_, divergence_}; }
  Value call(Value x, bool training) override {
    const Value code = (*encoder_)(x, training);
    return (*decoder_)(ops::slice(code, -1, 0, 2), training);
  }
  StepLogs train_step(const StepData& data) override {
    const Value x = data.x[0], code = (*encoder_)(x, true);
    const Value mean = ops::slice(code, -1, 0, 2), log_variance = ops::slice(code, -1, 2, 2);
    const Value draw = mean + ops::exp(0.5 * log_variance) * (*noise_)(mean * 0, true);
    const Value restored = ops::mean(ops::square((*decoder_)(draw, true) - x));
    const Value divergence = ops::mean(0.5 * (ops::square(mean) + ops::exp(log_variance) - log_variance - 1));
    optimizer().apply(gradients(restored + 0.02 * divergence, trainable_variables()), trainable_variables());
    restored_->update(restored);
    divergence_->update(divergence);
    return {{"restored", restored_->result()}, {"divergence", divergence_->result()}};
  }

 private:
  std::shared_ptr<Sequential> encoder_ = network({hidden(16), linear(4)}), decoder_ = network({hidden(16), linear(2)});
  LayerPtr noise_ = layers::gaussian_noise({.stddev = 1});
  std::shared_ptr<Mean> restored_ = metrics::mean({.name = "restored"}),
                        divergence_ = metrics::mean({.name = "divergence"});
};

/// Two networks that compete. The critic's gradient by its input is held near 1: its update needs second derivatives.
class Wasserstein : public Model {
 public:
  Wasserstein() { generator_->build({-1, 2}); }

  std::vector<LayerPtr> layers() const override { return {critic_, generator_, noise_}; }
  std::vector<MetricPtr> metrics() const override { return {slope_, distance_}; }
  Value call(Value x, bool training) override { return (*critic_)(x, training); }
  StepLogs train_step(const StepData& data) override {
    const Value real = data.x[0], made = generate(real);
    const Value between = 0.5 * (real + ops::stop_gradient(made));
    const Value score = (*critic_)(between, true);
    const Value sources[] = {between};
    const Value by_input = gradients(ops::sum(score), sources)[0];
    const Value slope = ops::sqrt(ops::sum(ops::square(by_input), {-1}) + 1e-12);
    const Value distance = ops::mean((*critic_)(real, true)) - ops::mean((*critic_)(ops::stop_gradient(made), true));
    const Value penalty = ops::mean(ops::square(slope - 1));
    const std::vector<Variable> critic = critic_->trainable_variables(), generator = generator_->trainable_variables();
    optimizer().apply(gradients(10 * penalty - distance, critic), critic);
    const Value score_of_made = -ops::mean((*critic_)(generate(real), true));
    generator_optimizer_->apply(gradients(score_of_made, generator), generator);
    slope_->update(slope);
    distance_->update(distance);
    return {{"slope", slope_->result()}, {"distance", distance_->result()}};
  }

 private:
  Value generate(Value like) { return (*generator_)((*noise_)(like * 0, true), true); }

  std::shared_ptr<Sequential> critic_ = network({hidden(32), hidden(32), linear(1)}),
                              generator_ = network({hidden(32), linear(2)});
  LayerPtr noise_ = layers::gaussian_noise({.stddev = 1});
  OptimizerPtr generator_optimizer_ = optimizers::adam({.learning_rate = 0.002});
  std::shared_ptr<Mean> slope_ = metrics::mean({.name = "slope"}), distance_ = metrics::mean({.name = "distance"});
};

/// A generator of images [8, 8, 1] by transposed convolutions, and a discriminator by convolutions.
class ConvolutionalGan : public Model {
 public:
  ConvolutionalGan() { generator_->build({-1, 8}); }

  std::vector<LayerPtr> layers() const override { return {discriminator_, generator_, noise_}; }
  std::vector<MetricPtr> metrics() const override { return {error_}; }
  Value call(Value images, bool training) override { return (*discriminator_)(images, training); }
  /// Images from codes [batch, 8].
  Tensor generated(const Tensor& codes) { return generator_->predict(codes, {.verbose = 0}); }
  StepLogs train_step(const StepData& data) override {
    const Value real = data.x[0];
    const std::int64_t batch = real.shape()[0];
    const auto made = [&] { return (*generator_)((*noise_)(ops::zeros({batch, 8}), true), true); };
    const auto loss = [&](Value images, double label) {
      const Value logits = (*discriminator_)(images, true);
      return ops::mean(ops::sigmoid_crossentropy(logits, logits * 0 + label));
    };
    const Value error = 0.5 * (loss(real, 0.9) + loss(ops::stop_gradient(made()), 0));
    const std::vector<Variable> judge = discriminator_->trainable_variables(),
                                maker = generator_->trainable_variables();
    optimizer().apply(gradients(error, judge), judge);
    generator_optimizer_->apply(gradients(loss(made(), 1), maker), maker);
    error_->update(error);
    return {{"error", error_->result()}};
  }

 private:
  std::shared_ptr<Sequential>
      discriminator_ =
          network({layers::conv2d(
                       {.filters = 8, .kernel_size = 3, .strides = 2, .padding = "same", .activation = "leaky_relu"}),
                   layers::flatten(), linear(1)}),
      generator_ =
          network({layers::dense({.units = 4 * 4 * 8, .activation = "leaky_relu"}),
                   layers::reshape({.target_shape = {4, 4, 8}}),
                   layers::conv2d_transpose(
                       {.filters = 8, .kernel_size = 3, .strides = 2, .padding = "same", .activation = "leaky_relu"}),
                   layers::conv2d({.filters = 1, .kernel_size = 3, .padding = "same", .activation = "sigmoid"})});
  LayerPtr noise_ = layers::gaussian_noise({.stddev = 1});
  OptimizerPtr generator_optimizer_ = optimizers::adam({.learning_rate = 0.004, .beta_1 = 0.5});
  std::shared_ptr<Mean> error_ = metrics::mean({.name = "error"});
};

}  // namespace

TEST_CASE("a convolutional GAN learns which half of its images is bright", "[whole_models]") {
  set_random_seed(6);
  // The left half is dark, the right half is bright.
  Tensor images({128, 8, 8, 1});
  for (std::int64_t i = 0; i < images.size(); ++i)
    images.data<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>((i % 8 < 4 ? 0.1 : 0.8) + 0.1 * std::sin(static_cast<double>(i)));
  ConvolutionalGan model;
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.002, .beta_1 = 0.5})});
  model.fit(Data(images), epochs(60));
  const Tensor made = model.generated(waves({32, 8}));
  double left = 0, right = 0;
  for (std::int64_t i = 0; i < made.size(); ++i)
    (i % 8 < 4 ? left : right) += 2 * made.at(i) / static_cast<double>(made.size());
  CHECK(left < 0.35);
  CHECK(right > 0.6);
}

TEST_CASE("a variational autoencoder restores points, and its codes stay near the normal distribution",
          "[whole_models]") {
  set_random_seed(1);
  VariationalAutoencoder model;
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.02})});
  const auto history = model.fit(Data(ring(256)), epochs(60));
  CHECK((*history)["restored"].back() < 0.2 * (*history)["restored"].front());
  CHECK((*history)["divergence"].back() < 5);
}

TEST_CASE("a Wasserstein GAN with gradient penalty keeps the critic's slope near 1, and approaches the data",
          "[whole_models]") {
  set_random_seed(2);
  Wasserstein model;
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.005})});
  const auto history = model.fit(Data(ring(256)), epochs(60));
  const auto& slope = (*history)["slope"];
  CHECK(slope.front() < 0.95);
  CHECK(slope.back() > 0.8);
  CHECK(slope.back() < 1.2);
  const auto& distance = (*history)["distance"];
  CHECK(distance.back() < 0.6 * *std::max_element(distance.begin(), distance.end()));
}

TEST_CASE("a network trained by Circle draws samples of one class together", "[whole_models]") {
  set_random_seed(3);
  constexpr std::int64_t samples = 128;
  // Four noisy directions of eight numbers.
  Tensor x = waves({samples, 8}, 3), labels({samples}, DType::int32);
  for (std::int64_t i = 0; i < samples; ++i) {
    labels.data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 4);
    x.data<float>()[static_cast<std::size_t>(8 * i + i % 4)] += 1.5F;
  }
  Sequential model({layers::dense({.units = 16, .activation = "relu"}), linear(4), layers::unit_normalization()});
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.01}), .loss = losses::circle({.gamma = 10})});
  model.fit(x, labels, epochs(40));
  const Tensor codes = model.predict(x, {.verbose = 0});
  int right = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    std::int64_t nearest = -1;
    double best = -2;
    for (std::int64_t j = 0; j < samples; ++j) {
      double cosine = 0;
      for (std::int64_t k = 0; k < 4; ++k) cosine += codes.at(4 * i + k) * codes.at(4 * j + k);
      if (j != i && cosine > best) best = cosine, nearest = j;
    }
    right += nearest % 4 == i % 4;
  }
  CHECK(right > 0.95 * samples);
}

TEST_CASE("a GRU trained by CTC reads sequences of symbols without their positions", "[whole_models]") {
  set_random_seed(4);
  constexpr std::int64_t samples = 96, steps = 12, symbols = 3;
  Tensor x({samples, steps, symbols}), labels({samples, 3}, DType::int32);
  std::uint32_t state = 9;
  const auto below = [&](std::uint32_t count) {
    return (state = state * 1664525U + 1013904223U, (state >> 8) % count);
  };
  for (std::int64_t i = 0; i < samples; ++i) {
    std::int64_t step = below(2);
    for (std::int64_t j = 0; j < 3; ++j, step += 1 + below(2)) {
      const auto symbol = static_cast<std::int64_t>(below(symbols));
      labels.data<std::int32_t>()[static_cast<std::size_t>(3 * i + j)] = static_cast<std::int32_t>(symbol + 1);
      // A symbol is shown for two steps.
      for (const std::int64_t end = step + 2; step < end; ++step)
        x.data<float>()[static_cast<std::size_t>((i * steps + step) * symbols + symbol)] = 1;
    }
  }
  Sequential model({layers::gru({.units = 24, .return_sequences = true}), linear(symbols + 1)});
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.02}), .loss = "ctc"});
  const auto history = model.fit(x, labels, epochs(60));
  const auto& loss = (*history)["loss"];
  CHECK(loss.back() < 0.1 * loss.front());
}

TEST_CASE("a wide and deep model learns from looked up integers and numbers", "[whole_models]") {
  set_random_seed(5);
  constexpr std::int64_t samples = 256;
  Tensor shop({samples, 1}, DType::int32), price = waves({samples, 2}, 1), bought({samples, 1});
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t which = i * 7 % 5;
    shop.data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(1000 + 13 * which);
    bought.data<float>()[static_cast<std::size_t>(i)] = price.at(2 * i) + (which < 2 ? 0.5 : -0.5) > 0;
  }
  const SymbolicTensor of_shop = layers::input({.shape = {1}, .dtype = "int32"}),
                       of_price = layers::input({.shape = {2}});
  const auto lookup = layers::integer_lookup({.vocabulary = {1000, 1013, 1026, 1039, 1052}});
  const SymbolicTensor known = lookup->apply(of_shop);
  const SymbolicTensor code =
      layers::flatten()->apply(layers::embedding({.input_dim = 6, .output_dim = 4})->apply(known));
  const SymbolicTensor deep = hidden(16)->apply(layers::concatenate()->apply({code, of_price}));
  const SymbolicTensor out = layers::add()->apply({linear(1)->apply(deep), linear(1)->apply(of_price)});
  Functional model({of_shop, of_price}, {layers::activation("sigmoid")->apply(out)});
  model.compile(
      {.optimizer = optimizers::adam({.learning_rate = 0.02}), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const Batch data{{shop, price}, {bought}, {}};
  model.fit(data, epochs(40));
  CHECK(model.evaluate(data, {.verbose = 0})["accuracy"] > 0.97);
}
