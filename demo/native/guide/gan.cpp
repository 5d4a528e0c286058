// Customizing fit, 5: two networks and two optimizers in one step. The discriminator learns to distinguish
// images of Fashion-MNIST from generated ones; the generator learns to deceive it.
#include <etude/etude.hpp>

#include "samples.hpp"

using namespace etude;

class Gan : public Model {
 public:
  Gan() { generator_->build({-1, latent}); }

  std::vector<LayerPtr> layers() const override { return {discriminator_, generator_, noise_}; }
  std::vector<MetricPtr> metrics() const override { return {d_loss_, g_loss_}; }
  /// The logits of images being real: the output of predict().
  Value call(Value x, bool training) override { return (*discriminator_)(x, training); }

  StepLogs train_step(const StepData& data) override {
    const Value real = data.x[0];
    const std::int64_t batch = real.shape()[0];
    const Value yes = ops::ones({batch, 1}), no = ops::zeros({batch, 1});

    const Value images = ops::concatenate({real, generate(batch)}, 0);
    const Value d_loss = loss(ops::concatenate({yes, no}, 0), (*discriminator_)(images, true));
    const std::vector<Variable> d_weights = discriminator_->trainable_variables();
    optimizer().apply(gradients(d_loss, d_weights), d_weights);

    // The updated discriminator classifies new images; only the generator's weights change.
    const Value g_loss = loss(yes, (*discriminator_)(generate(batch), true));
    const std::vector<Variable> g_weights = generator_->trainable_variables();
    g_optimizer_->apply(gradients(g_loss, g_weights), g_weights);

    d_loss_->update(d_loss);
    g_loss_->update(g_loss);
    return {{"d_loss", d_loss_->result()}, {"g_loss", g_loss_->result()}};
  }

 private:
  static constexpr std::int64_t latent = 32;
  static Value loss(Value labels, Value logits) { return ops::mean(ops::sigmoid_crossentropy(logits, labels)); }
  Value generate(std::int64_t batch) { return (*generator_)((*noise_)(ops::zeros({batch, latent}), true), true); }

  LayerPtr noise_ = layers::gaussian_noise({.stddev = 1});
  std::shared_ptr<Sequential> discriminator_ = std::make_shared<Sequential>(std::vector<LayerPtr>{
      layers::dense({.units = 128, .activation = "leaky_relu"}), layers::dropout(0.3), layers::dense({.units = 1})});
  std::shared_ptr<Sequential> generator_ =
      std::make_shared<Sequential>(std::vector<LayerPtr>{layers::dense({.units = 128, .activation = "leaky_relu"}),
                                                         layers::dense({.units = 784, .activation = "sigmoid"})});
  OptimizerPtr g_optimizer_ = optimizers::adam({.learning_rate = 0.0003});
  std::shared_ptr<Mean> d_loss_ = metrics::mean({.name = "d_loss"}), g_loss_ = metrics::mean({.name = "g_loss"});
};

int main() {
  set_random_seed(5);
  const Tensor images = guide::images(4096);
  Gan gan;
  gan.compile({.optimizer = optimizers::adam({.learning_rate = 0.0003}), .check_trace = true});
  guide::report("gan", *gan.fit(Data(images), {.batch_size = 64, .epochs = 3, .verbose = 2}));
}
