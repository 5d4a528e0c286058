#pragma once

/// Options that TypeScript demands. Without Emscripten, so that tests/required_options_test.cpp can compare it with
/// what is refused.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace etude::js {

/// Options without which nothing can be made, or which Keras demands.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 34> required_options{{
    {"ActivationOptions", "activation"},
    {"BackupAndRestoreOptions", "backup_dir"},
    {"CSVLoggerOptions", "filename"},
    {"Conv2DOptions", "filters"},
    {"Conv2DOptions", "kernel_size"},
    {"CosineDecayOptions", "decay_steps"},
    {"CosineDecayOptions", "initial_learning_rate"},
    {"CosineDecayRestartsOptions", "first_decay_steps"},
    {"CosineDecayRestartsOptions", "initial_learning_rate"},
    {"DenseOptions", "units"},
    {"DropoutOptions", "rate"},
    {"EmbeddingOptions", "input_dim"},
    {"EmbeddingOptions", "output_dim"},
    {"ExponentialDecayOptions", "decay_rate"},
    {"ExponentialDecayOptions", "decay_steps"},
    {"ExponentialDecayOptions", "initial_learning_rate"},
    {"GRUOptions", "units"},
    {"GaussianNoiseOptions", "stddev"},
    {"InputOptions", "shape"},
    {"InverseTimeDecayOptions", "decay_rate"},
    {"InverseTimeDecayOptions", "decay_steps"},
    {"InverseTimeDecayOptions", "initial_learning_rate"},
    {"LSTMOptions", "units"},
    {"LearningRateSchedulerOptions", "schedule"},
    {"LossScaleOptimizerOptions", "inner_optimizer"},
    {"ModelCheckpointOptions", "filepath"},
    {"MultiHeadAttentionOptions", "key_dim"},
    {"MultiHeadAttentionOptions", "num_heads"},
    {"PiecewiseConstantDecayOptions", "boundaries"},
    {"PiecewiseConstantDecayOptions", "values"},
    {"PolynomialDecayOptions", "decay_steps"},
    {"PolynomialDecayOptions", "initial_learning_rate"},
    {"RescalingOptions", "scale"},
    {"SimpleRNNOptions", "units"},
}};

inline bool is_required(std::string_view options, std::string_view field) {
  return std::ranges::find(required_options, std::pair(options, field)) != required_options.end();
}

}  // namespace etude::js
