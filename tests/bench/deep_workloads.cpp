#include "deep_workloads.hpp"

#include <algorithm>
#include <cmath>

#include "../fashion_mnist.hpp"

namespace {

using etude::LayerPtr;
using etude::SymbolicTensor;
using etude::Tensor;
using etude::Value;
namespace layers = etude::layers;

/// The first images of Fashion-MNIST in the middle of 32 x 32 pixels, with three equal channels.
constexpr std::int64_t images = 6400;
Tensor images_of_32() {
  const Tensor from = etude::fashion_mnist::images(images);
  Tensor to({images, 32, 32, 3});
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t y = 0; y < 28; ++y)
      for (std::int64_t x = 0; x < 28; ++x)
        for (std::int64_t c = 0; c < 3; ++c)
          to.data<float>()[static_cast<std::size_t>(((n * 32 + y + 2) * 32 + x + 2) * 3 + c)] =
              from.data<float>()[static_cast<std::size_t>((n * 28 + y) * 28 + x)];
  return to;
}

Workload of_images(SymbolicTensor input, SymbolicTensor features, std::int64_t batch, std::int64_t steps) {
  const SymbolicTensor pooled = layers::global_average_pooling2d()->apply(features),
                       output = layers::dense({.units = 10, .activation = "softmax"})->apply(pooled);
  return {std::make_shared<etude::Functional>(std::vector{input}, std::vector{output}),
          {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}},
          images_of_32(),
          etude::fashion_mnist::labels(images),
          batch,
          steps};
}

SymbolicTensor relu(SymbolicTensor x) { return layers::relu()->apply(x); }
SymbolicTensor normalized(const LayerPtr& convolution, SymbolicTensor x) {
  return layers::batch_normalization()->apply(convolution->apply(x));
}
SymbolicTensor convolution(SymbolicTensor x, std::int64_t filters, std::int64_t size, std::int64_t stride) {
  return normalized(
      layers::conv2d(
          {.filters = filters, .kernel_size = size, .strides = stride, .padding = "same", .use_bias = false}),
      x);
}
SymbolicTensor depthwise(SymbolicTensor x, std::int64_t stride) {
  return normalized(
      layers::depthwise_conv2d({.kernel_size = 3, .strides = stride, .padding = "same", .use_bias = false}), x);
}

/// Vectors for the positions of a sequence, added to those of its tokens.
class Positions : public etude::Layer {
 public:
  Positions() : Layer("Positions") {}
  void build(const etude::Shape& shape) override {
    vectors_ = add_weight({.name = "vectors", .shape = {shape[1], shape[2]}, .initializer = "random_uniform"});
  }
  Value call(Value x, bool) override { return x + value_of(vectors_); }

 private:
  etude::Variable vectors_;
};

class Gpt : public etude::Model {
 public:
  Gpt() : Model({}, "Gpt") {}

  std::vector<LayerPtr> layers() const override {
    std::vector<LayerPtr> all{embedding_, positions_};
    for (const Block& block : blocks_)
      all.insert(all.end(), {block.before_attention, block.attention, block.before_wide, block.wide, block.narrow});
    all.insert(all.end(), {last_, head_});
    return all;
  }
  Value call(Value x, bool training) override {
    x = (*positions_)((*embedding_)(x, training), training);
    for (const Block& block : blocks_) {
      const Value even = (*block.before_attention)(x, training);
      x = x +
          block.attention->attend({.query = even, .value = even, .use_causal_mask = true, .training = training}).output;
      x = x + (*block.narrow)((*block.wide)((*block.before_wide)(x, training), training), training);
    }
    return (*head_)((*last_)(x, training), training);
  }

 private:
  struct Block {
    LayerPtr before_attention = etude::layers::layer_normalization();
    std::shared_ptr<etude::MultiHeadAttention> attention =
        etude::layers::multi_head_attention({.num_heads = 4, .key_dim = 32});
    LayerPtr before_wide = etude::layers::layer_normalization(),
             wide = etude::layers::dense({.units = 512, .activation = "relu"}),
             narrow = etude::layers::dense({.units = 128});
  };

  LayerPtr embedding_ = etude::layers::embedding({.input_dim = 128, .output_dim = 128}),
           positions_ = std::make_shared<Positions>();
  std::vector<Block> blocks_ = std::vector<Block>(4);
  LayerPtr last_ = etude::layers::layer_normalization(), head_ = etude::layers::dense({.units = 128});
};

/// mulberry32: uniform numbers in [0, 1), as in peers/data.mjs.
class Uniform {
 public:
  explicit Uniform(std::uint32_t seed) : state_(seed) {}
  double operator()() {
    state_ += 0x6d2b79f5u;
    std::uint32_t t = (state_ ^ (state_ >> 15)) * (state_ | 1u);
    t ^= t + (t ^ (t >> 7)) * (t | 61u);
    return (t ^ (t >> 14)) / 4294967296.0;
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>((*this)() * static_cast<double>(n)); }

 private:
  std::uint32_t state_;
};

/// Words of a made-up language of 256 words, common ones first, as ASCII codes; 1,024 rows of 64 characters and their
/// successors.
std::pair<Tensor, Tensor> words() {
  Uniform next(7);
  std::vector<std::string> dictionary(256);
  for (std::string& word : dictionary) {
    word.resize(static_cast<std::size_t>(2 + next.below(6)));
    for (char& letter : word) letter = static_cast<char>('a' + next.below(26));
  }
  constexpr std::int64_t rows = 1024, length = 64;
  std::string text;
  while (text.size() <= rows * length) {
    const double u = next();
    text += dictionary[static_cast<std::size_t>(256 * u * u)] + ' ';
  }
  Tensor x({rows, length}, etude::DType::int32), y({rows, length}, etude::DType::int32);
  for (std::size_t i = 0; i < rows * length; ++i) {
    x.data<std::int32_t>()[i] = text[i];
    y.data<std::int32_t>()[i] = text[i + 1];
  }
  return {x, y};
}

}  // namespace

Workload resnet20() {
  const SymbolicTensor input = layers::input({.shape = {32, 32, 3}});
  SymbolicTensor x = relu(convolution(input, 16, 3, 1));
  for (const std::int64_t filters : {16, 32, 64})
    for (int block = 0; block < 3; ++block) {
      const std::int64_t stride = filters > 16 && block == 0 ? 2 : 1;
      const SymbolicTensor y = convolution(relu(convolution(x, filters, 3, stride)), filters, 3, 1),
                           shortcut = stride == 1 ? x : convolution(x, filters, 1, stride);
      x = relu(layers::add()->apply({shortcut, y}));
    }
  return of_images(input, x, 64, 40);
}

Workload mobile() {
  const SymbolicTensor input = layers::input({.shape = {32, 32, 3}});
  SymbolicTensor x = relu(convolution(input, 32, 3, 1));
  struct Block {
    std::int64_t filters, stride;
  };
  for (const auto [filters, stride] : {Block{64, 1}, Block{128, 2}, Block{128, 1}, Block{256, 2}, Block{256, 1}})
    x = relu(convolution(relu(depthwise(x, stride)), filters, 1, 1));
  return of_images(input, x, 32, 100);
}

Workload gpt() {
  const auto [x, y] = words();
  return {std::make_shared<Gpt>(),
          {.optimizer = "adam",
           .loss = etude::losses::sparse_categorical_crossentropy({.from_logits = true}),
           .metrics = {"accuracy"}},
          x,
          y,
          32,
          60};
}
