#include "workloads.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "../fashion_mnist.hpp"
#include "deep_workloads.hpp"

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
  constexpr std::int64_t steps = 200'000;  // V8 has fully compiled the module after a tenth of them
  return {model, {.optimizer = etude::optimizers::sgd({.learning_rate = 0.1}), .loss = "binary_crossentropy"}, x, y, 32,
          steps};
}

/// Rows of pixels as steps: LSTM 64, Dense 10 on Fashion-MNIST.
Workload lstm() {
  auto model = std::make_shared<etude::Sequential>(
      std::vector<etude::LayerPtr>{layers::lstm({.units = 64}), layers::dense({.units = 10, .activation = "softmax"})});
  return {model,
          {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}},
          etude::fashion_mnist::images().reshape({etude::fashion_mnist::samples, 28, 28}),
          etude::fashion_mnist::labels(),
          64,
          938};
}

/// The same with GRU 64.
Workload gru() {
  Workload work = lstm();
  work.model = std::make_shared<etude::Sequential>(
      std::vector<etude::LayerPtr>{layers::gru({.units = 64}), layers::dense({.units = 10, .activation = "softmax"})});
  return work;
}

/// Images for a convolution: [60000, 28, 28, 1].
Tensor square_images() { return etude::fashion_mnist::images().reshape({etude::fashion_mnist::samples, 28, 28, 1}); }

etude::LayerPtr convolution(std::int64_t filters) {
  return layers::conv2d({.filters = filters, .kernel_size = 3, .activation = "relu"});
}

/// One convolution: Conv 32, pool, 64, 10.
Workload cnn() {
  auto model = std::make_shared<etude::Sequential>(std::vector{
      convolution(32), layers::max_pooling2d({.pool_size = 2}), layers::flatten(),
      layers::dense({.units = 64, .activation = "relu"}), layers::dense({.units = 10, .activation = "softmax"})});
  return {model,
          {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}},
          square_images(),
          etude::fashion_mnist::labels(),
          32,
          400};
}

/// Two: Conv 32, pool, Conv 64, pool, 128, dropout, 10.
Workload cnn2() {
  auto model = std::make_shared<etude::Sequential>(std::vector{
      convolution(32), layers::max_pooling2d({.pool_size = 2}), convolution(64),
      layers::max_pooling2d({.pool_size = 2}), layers::flatten(), layers::dense({.units = 128, .activation = "relu"}),
      layers::dropout(0.5), layers::dense({.units = 10, .activation = "softmax"})});
  return {model,
          {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}},
          square_images(),
          etude::fashion_mnist::labels(),
          64,
          120};
}

/// One transformer block over the rows of an image, normalised before attention and before the wide layer.
class Transformer : public etude::Model {
 public:
  Transformer() : Model({}, "Transformer") {}

  std::vector<etude::LayerPtr> layers() const override {
    return {embed_, before_attention_, attention_, add_, before_wide_, wide_, narrow_, pool_, head_};
  }
  etude::Value call(etude::Value x, bool training) override {
    x = (*embed_)(x, training);
    const etude::Value even = (*before_attention_)(x, training);
    x = (*add_)({x, (*attention_)({even, even}, training)}, training);
    const etude::Value wide = (*wide_)((*before_wide_)(x, training), training);
    x = (*add_)({x, (*narrow_)(wide, training)}, training);
    return (*head_)((*pool_)(x, training), training);
  }

 private:
  etude::LayerPtr embed_ = layers::dense({.units = 64}), before_attention_ = layers::layer_normalization(),
                  attention_ = layers::multi_head_attention({.num_heads = 4, .key_dim = 16}), add_ = layers::add(),
                  before_wide_ = layers::layer_normalization(),
                  wide_ = layers::dense({.units = 128, .activation = "relu"}), narrow_ = layers::dense({.units = 64}),
                  pool_ = layers::global_average_pooling1d(),
                  head_ = layers::dense({.units = 10, .activation = "softmax"});
};

/// The rows of Fashion-MNIST's images as 28 steps of 28 features.
Workload attn() {
  const Tensor images = etude::fashion_mnist::images();
  return {std::make_shared<Transformer>(),
          {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}},
          images.reshape({images.shape()[0], 28, 28}),
          etude::fashion_mnist::labels(),
          32,
          1875};
}

/// 784-4096-4096-10 on Fashion-MNIST: large products.
Workload big() {
  const auto wide = [] { return layers::dense({.units = 4096, .activation = "relu"}); };
  auto model = std::make_shared<etude::Sequential>(
      std::vector{wide(), wide(), layers::dense({.units = 10, .activation = "softmax"})});
  return {model,
          {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}},
          etude::fashion_mnist::images(),
          etude::fashion_mnist::labels(),
          512,
          20};
}

/// The model of a workload predicts 10,000 images, in its batches.
template <Workload trained()> Workload predict() {
  Workload work = trained();
  work.x = work.x.rows(0, 10000);
  work.predictions = 7;
  return work;
}

struct Named {
  std::string name;
  Workload (*make)();
};

/// One line for each; workloads.json has the models of the peers.
const std::vector<Named>& all_workloads() {
  static const std::vector<Named> all{
      {"mlp", mlp},
      {"cnn", cnn},
      {"cnn2", cnn2},
      {"tiny", tiny},
      {"lstm", lstm},
      {"gru", gru},
      {"attn", attn},
      {"mobile", mobile},
      {"resnet20", resnet20},
      {"gpt", gpt},
      {"big", big},
      {"predict-mlp", predict<mlp>},
      {"predict-cnn2", predict<cnn2>},
  };
  return all;
}

}  // namespace

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const Named& workload : all_workloads()) names.push_back(workload.name);
  return names;
}

Workload make_workload(const std::string& name) {
  const auto found = std::ranges::find(all_workloads(), name, &Named::name);
  etude::check(found != all_workloads().end(), etude::ErrorKind::value, "bench", "workload \"", name,
               "\" - expected one that `etude_bench list` prints - choose one.");
  return found->make();
}
