// Texts: a layer learns a vocabulary and converts texts to indices, which a model reads. Hashes need no vocabulary.
#include <etude/etude.hpp>

#include "samples.hpp"

using namespace etude;

int main() {
  const std::vector<std::string> texts{"A wonderful film!", "I loved it.", "What a great story.",
                                       "A terrible film.",  "I hated it!", "What a boring story."};
  const Tensor labels = Tensor::from<float>({6, 1}, {1, 1, 1, 0, 0, 0});

  const auto vectorize = layers::text_vectorization({.max_tokens = 1000, .output_sequence_length = 6});
  vectorize->adapt(texts);

  set_random_seed(8);
  Sequential model({layers::embedding({.input_dim = vectorize->vocabulary_size(), .output_dim = 8}),
                    layers::global_average_pooling1d(), layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile(
      {.optimizer = optimizers::adam({.learning_rate = 0.05}), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  guide::report("texts", *model.fit((*vectorize)(texts), labels, {.epochs = 30, .verbose = 2}));

  const Tensor y = model.predict((*vectorize)({"I loved the story", "boring"}), {.verbose = 0});
  std::printf("predictions: loved=%.3f boring=%.3f\n", y.at(0), y.at(1));

  // The bins of pairs are the features of a linear model.
  const auto cross = layers::hashed_crossing({.num_bins = 64, .output_mode = "one_hot"});
  const Tensor pairs = (*cross)({Strings{"red", "red", "blue", "blue"}, Strings{"small", "large", "small", "large"}});
  Sequential linear({layers::dense({.units = 1, .kernel_initializer = "zeros"})});
  linear.compile({.optimizer = optimizers::sgd({.learning_rate = 0.5}), .loss = "mse"});
  guide::report("pairs", *linear.fit(pairs, Tensor::from<float>({4, 1}, {1, 0, 0, 1}), {.epochs = 30, .verbose = 2}));
}
