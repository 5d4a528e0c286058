#include <catch2/catch_test_macros.hpp>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Small versions of known architectures learn synthetic tasks: each promise is a loss or an accuracy.
using namespace etude;
using namespace etude::samples;

namespace {

/// Pseudorandom whole numbers in [0, count).
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t count) {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<std::int64_t>(state_ >> 8) % count;
  }

 private:
  std::uint32_t state_;
};

FitOptions epochs(int count, std::int64_t batch_size = 32) {
  return {.batch_size = batch_size, .epochs = count, .verbose = 0};
}

/// Trains the model and returns the last loss divided by the first.
double loss_ratio(Model& model, const Tensor& x, const Tensor& y, int count) {
  const auto history = model.fit(x, y, epochs(count));
  const auto& loss = (*history)["loss"];
  return loss.back() / loss.front();
}

/// Images [count, size, size, 1] with a bright square of 4 by 4 in one of four corners; and the corner.
struct Squares {
  explicit Squares(std::int64_t count, std::int64_t size = 12)
      : x({count, size, size, 1}), mask({count, size, size, 1}), corner({count, 1}, DType::int32) {
    Draws draws(7);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t which = draws.below(4);
      corner.data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(which);
      const std::int64_t half = size / 2, top = which / 2 * half + draws.below(half - 3),
                         left = which % 2 * half + draws.below(half - 3);
      for (std::int64_t row = 0; row < size; ++row)
        for (std::int64_t column = 0; column < size; ++column) {
          const bool inside = row >= top && row < top + 4 && column >= left && column < left + 4;
          const auto at = static_cast<std::size_t>((i * size + row) * size + column);
          mask.data<float>()[at] = inside;
          x.data<float>()[at] = static_cast<float>(inside) + static_cast<float>(draws.below(100)) / 250;
        }
    }
  }
  Tensor x, mask, corner;
};

SymbolicTensor convolved(const SymbolicTensor& x, std::int64_t filters, std::int64_t strides = 1) {
  const SymbolicTensor y =
      layers::conv2d({.filters = filters, .kernel_size = 3, .strides = strides, .padding = "same", .use_bias = false})
          ->apply(x);
  return layers::batch_normalization()->apply(y);
}

SymbolicTensor relu(const SymbolicTensor& x) { return layers::activation("relu")->apply(x); }

double accuracy_of(Model& model, const Tensor& x, const Tensor& y) {
  return model.evaluate(x, y, {.verbose = 0})["accuracy"];
}

CompileOptions classifier(double learning_rate = 0.01) {
  return {.optimizer = optimizers::adam({.learning_rate = learning_rate}),
          .loss = losses::sparse_categorical_crossentropy({.from_logits = true}),
          .metrics = {"accuracy"}};
}

}  // namespace

TEST_CASE("a residual network of three stages learns to classify images", "[whole_models]") {
  set_random_seed(1);
  const Squares data(160);
  const SymbolicTensor input = layers::input({.shape = {12, 12, 1}});
  SymbolicTensor x = relu(convolved(input, 8));
  for (const std::int64_t filters : {8, 16, 32}) {
    const std::int64_t strides = filters == 8 ? 1 : 2;
    const SymbolicTensor inner = convolved(relu(convolved(x, filters, strides)), filters);
    const SymbolicTensor shortcut =
        strides == 1 ? x : layers::conv2d({.filters = filters, .kernel_size = 1, .strides = 2})->apply(x);
    x = relu(layers::add()->apply({inner, shortcut}));
  }
  Functional model({input}, {layers::dense({.units = 4})->apply(layers::global_average_pooling2d()->apply(x))});
  model.compile(classifier());
  model.fit(data.x, data.corner, epochs(12));
  CHECK(accuracy_of(model, data.x, data.corner) > 0.95);
}

TEST_CASE("a network of depthwise and pointwise convolutions learns to classify images", "[whole_models]") {
  set_random_seed(2);
  const Squares data(160);
  std::vector<LayerPtr> all{layers::conv2d({.filters = 8, .kernel_size = 3, .padding = "same"})};
  for (const std::int64_t filters : {16, 32}) {
    all.push_back(layers::depthwise_conv2d({.kernel_size = 3, .strides = 2, .padding = "same"}));
    all.push_back(layers::batch_normalization());
    all.push_back(layers::relu({.max_value = 6}));
    all.push_back(layers::conv2d({.filters = filters, .kernel_size = 1, .activation = "relu6"}));
  }
  all.push_back(layers::flatten());
  all.push_back(layers::dense({.units = 4}));
  Sequential model(all);
  model.compile(classifier());
  model.fit(data.x, data.corner, epochs(12));
  CHECK(accuracy_of(model, data.x, data.corner) > 0.95);
}

TEST_CASE("a U-Net with connections across learns to segment images", "[whole_models]") {
  set_random_seed(3);
  const Squares data(96);
  const SymbolicTensor input = layers::input({.shape = {12, 12, 1}});
  const SymbolicTensor wide = relu(convolved(input, 8));
  const SymbolicTensor low = relu(convolved(layers::max_pooling2d()->apply(wide), 16));
  const SymbolicTensor up =
      layers::conv2d_transpose({.filters = 8, .kernel_size = 3, .strides = 2, .padding = "same"})->apply(low);
  const SymbolicTensor joined = relu(convolved(layers::concatenate()->apply({wide, up}), 8));
  Functional model({input}, {layers::conv2d({.filters = 1, .kernel_size = 1, .activation = "sigmoid"})->apply(joined)});
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.01}),
                 .loss = "binary_crossentropy",
                 .metrics = {metrics::binary_io_u()}});
  model.fit(data.x, data.mask, epochs(12));
  CHECK(model.evaluate(data.x, data.mask, {.verbose = 0})["binary_io_u"] > 0.9);
}

TEST_CASE("a bidirectional LSTM over masked words learns a sentiment", "[whole_models]") {
  set_random_seed(4);
  constexpr std::int64_t samples = 192, words = 10;
  Draws draws(11);
  Tensor x({samples, words}, DType::int32), y({samples, 1});
  for (std::int64_t i = 0; i < samples; ++i) {
    // Words up to 10 are bad, those above are good; 0 is padding at the end.
    const std::int64_t length = 4 + draws.below(words - 3);
    int balance = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      const std::int64_t word = 1 + draws.below(20);
      x.data<std::int32_t>()[static_cast<std::size_t>(i * words + j)] = static_cast<std::int32_t>(word);
      balance += word > 10 ? 1 : -1;
    }
    y.data<float>()[static_cast<std::size_t>(i)] = balance > 0;
  }
  Sequential model({layers::embedding({.input_dim = 21, .output_dim = 8, .mask_zero = true}),
                    layers::bidirectional({.layer = layers::lstm({.units = 8})}),
                    layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile(
      {.optimizer = optimizers::adam({.learning_rate = 0.02}), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  model.fit(x, y, epochs(25));
  CHECK(accuracy_of(model, x, y) > 0.95);
}

namespace {

/// A transformer block with causal self-attention.
class Block : public Layer {
 public:
  explicit Block(std::int64_t width)
      : Layer("Block"),
        attention_(
            std::make_shared<MultiHeadAttention>(MultiHeadAttentionOptions{.num_heads = 2, .key_dim = width / 2})),
        all_{attention_, layers::layer_normalization(), layers::layer_normalization(),
             layers::dense({.units = 2 * width, .activation = "gelu"}), layers::dense({.units = width})} {}

  std::vector<LayerPtr> layers() const override { return all_; }
  Value call(Value x, bool training) override {
    const auto apply = [&](std::size_t layer, Value value) { return (*all_[layer])(value, training); };
    const Value normal = apply(1, x);
    x = x +
        attention_->attend({.query = normal, .value = normal, .use_causal_mask = true, .training = training}).output;
    return x + apply(4, apply(3, apply(2, x)));
  }

 private:
  std::shared_ptr<MultiHeadAttention> attention_;
  std::vector<LayerPtr> all_;
};

}  // namespace

TEST_CASE("a causal transformer of characters learns a text", "[whole_models]") {
  set_random_seed(5);
  const std::string text = "the cat sat on the mat and the dog sat on the log; ";
  constexpr std::int64_t length = 16, width = 16;
  const auto count = static_cast<std::int64_t>(text.size());
  Tensor x({count, length}, DType::int32), y({count, length}, DType::int32);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < length; ++j) {
      const auto at = static_cast<std::size_t>(i * length + j);
      const auto letter = [&](std::int64_t place) { return text[static_cast<std::size_t>(place % count)] - ' '; };
      x.data<std::int32_t>()[at] = letter(i + j);
      y.data<std::int32_t>()[at] = letter(i + j + 1);
    }
  Sequential model({layers::embedding({.input_dim = 96, .output_dim = width}), std::make_shared<Block>(width),
                    std::make_shared<Block>(width), layers::layer_normalization(), layers::dense({.units = 96})});
  model.compile(classifier(0.01));
  CHECK(loss_ratio(model, x, y, 60) < 0.15);

  // A later character changes no earlier prediction.
  const Tensor before = model.predict(x, {.verbose = 0});
  x.data<std::int32_t>()[length - 1] = 0;
  const Tensor after = model.predict(x, {.verbose = 0});
  for (std::int64_t i = 0; i < (length - 1) * 96; ++i) REQUIRE(after.at(i) == before.at(i));
}

TEST_CASE("a transformer over vectorized texts learns who does what, and is saved with its vocabulary",
          "[whole_models][text]") {
  const testing::FilesInMemory scope;
  set_random_seed(7);
  // The class is the order of two words: both classes have the same words, equally often.
  constexpr std::int64_t samples = 160, length = 8, width = 16;
  const Texts animals{"dog", "cat", "cow"}, people{"man", "boy", "girl"}, verbs{"sees", "follows", "likes"},
      ends{".", " today.", " in the park!"};
  Draws draws(12);
  const auto one_of = [&](const Texts& words) { return words[static_cast<std::size_t>(draws.below(3))]; };
  const auto sentence = [](const std::string& a, const std::string& verb, const std::string& b,
                           const std::string& end) { return "The " + a + ' ' + verb + " the " + b + end; };
  Texts texts;
  Tensor labels({samples, 1});
  for (std::int64_t i = 0; i < samples; ++i) {
    const bool animal_acts = draws.below(2) == 1;
    const std::string animal = one_of(animals), human = one_of(people), verb = one_of(verbs), end = one_of(ends);
    texts.push_back(animal_acts ? sentence(animal, verb, human, end) : sentence(human, verb, animal, end));
    labels.data<float>()[static_cast<std::size_t>(i)] = animal_acts;
  }
  const auto vectorize = layers::text_vectorization({.output_sequence_length = length});
  vectorize->adapt(texts);

  // Positions count from 1 on; that of padding is 0. So both embeddings have the mask, which attention and pooling use.
  Tensor places({length}, DType::int32);
  for (std::int64_t i = 0; i < length; ++i)
    places.data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i + 1);
  const auto embedded = [](std::int64_t count, const SymbolicTensor& indices) {
    return layers::embedding({.input_dim = count, .output_dim = width, .mask_zero = true})->apply(indices);
  };
  const SymbolicTensor input = layers::input({.shape = {length}, .dtype = "int32"});
  const SymbolicTensor positions = ops::multiply(ops::minimum(input, 1), places);
  const SymbolicTensor x =
      layers::add()->apply({embedded(vectorize->vocabulary_size(), input), embedded(length + 1, positions)});
  const SymbolicTensor attended = layers::multi_head_attention({.num_heads = 2, .key_dim = width / 2})->apply({x, x});
  const SymbolicTensor normal = layers::layer_normalization()->apply(layers::add()->apply({x, attended}));
  const SymbolicTensor hidden =
      layers::dense({.units = width, .activation = "relu"})->apply(layers::global_average_pooling1d()->apply(normal));
  Functional model({input}, {layers::dense({.units = 1, .activation = "sigmoid"})->apply(hidden)});
  model.compile(
      {.optimizer = optimizers::adam({.learning_rate = 0.01}), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const Tensor tokens = (*vectorize)(texts);
  model.fit(tokens, labels, epochs(20));
  CHECK(accuracy_of(model, tokens, labels) > 0.95);

  const Texts questions{"the cow likes the man", "the man likes the cow", "The COW follows a girl"};
  const Tensor answers = model.predict((*vectorize)(questions), {.verbose = 0});
  CHECK(answers.at(0) > 0.5);
  CHECK(answers.at(1) < 0.5);
  model.save("who.keras");
  const auto vectorizer_again =
      std::dynamic_pointer_cast<TextVectorization>(from_json<Layer>(to_json<Layer>(*vectorize)));
  REQUIRE(vectorizer_again);
  CHECK(vectorizer_again->get_vocabulary() == vectorize->get_vocabulary());
  const Tensor again = load_model("who.keras")->predict((*vectorizer_again)(questions), {.verbose = 0});
  CHECK(testing::same_bits(again, answers));
}

TEST_CASE("a convolutional autoencoder learns to restore images", "[whole_models]") {
  set_random_seed(6);
  const Squares data(96);
  Sequential model(
      {layers::conv2d({.filters = 8, .kernel_size = 3, .strides = 2, .padding = "same", .activation = "relu"}),
       layers::flatten(), layers::dense({.units = 24, .activation = "relu"}),
       layers::dense({.units = 6 * 6 * 8, .activation = "relu"}), layers::reshape({.target_shape = {6, 6, 8}}),
       layers::up_sampling2d(),
       layers::conv2d({.filters = 1, .kernel_size = 3, .padding = "same", .activation = "sigmoid"})});
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.01}), .loss = "binary_crossentropy"});
  CHECK(loss_ratio(model, data.x, data.mask, 40) < 0.35);
}
