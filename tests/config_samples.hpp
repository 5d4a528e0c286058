#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace etude::samples {

/// What a config of each class needs besides its defaults; nothing for most classes.
inline nlohmann::json needed(const std::string& class_name) {
  static const std::map<std::string, nlohmann::json> known{
      {"Conv2D", {{"filters", 2}, {"kernel_size", 3}}},
      {"Dense", {{"units", 3}}},
      {"Dropout", {{"rate", 0.5}}},
      {"Embedding", {{"input_dim", 7}, {"output_dim", 2}}},
      {"GRU", {{"units", 3}}},
      {"LSTM", {{"units", 3}}},
      {"MultiHeadAttention", {{"num_heads", 2}, {"key_dim", 4}}},
      {"Rescaling", {{"scale", 0.5}}},
      {"SimpleRNN", {{"units", 3}}},
      {"LossScaleOptimizer", {{"inner_optimizer", "adam"}, {"initial_scale", 8.0}}},
      {"CosineDecay", {{"initial_learning_rate", 0.1}, {"decay_steps", 10}}},
      {"CosineDecayRestarts", {{"initial_learning_rate", 0.1}, {"first_decay_steps", 10}}},
      {"ExponentialDecay", {{"initial_learning_rate", 0.1}, {"decay_steps", 10}, {"decay_rate", 0.5}}},
      {"InverseTimeDecay", {{"initial_learning_rate", 0.1}, {"decay_steps", 10}, {"decay_rate", 0.5}}},
      {"PiecewiseConstantDecay", {{"boundaries", {5}}, {"values", {0.1, 0.01}}}},
      {"PolynomialDecay", {{"initial_learning_rate", 0.1}, {"decay_steps", 10}}},
  };
  const auto found = known.find(class_name);
  return found == known.end() ? nlohmann::json::object() : found->second;
}

}  // namespace etude::samples
