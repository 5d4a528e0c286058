#pragma once

#include <string_view>

#include "etude/saving/detail/json.hpp"

namespace etude {

/// The registered name of hard_sigmoid of Keras 2 and TensorFlow.js, 0.2 x + 0.5 within [0, 1]. That of Keras 3 has
/// another slope. Keras 3 loads it if a function is registered under the same name.
inline constexpr std::string_view keras2_hard_sigmoid = "keras2>hard_sigmoid";

/// Registers that activation, which only files name.
void register_keras2_hard_sigmoid();

/// Changes the names of activations in a model that another version than Keras 3 described to those of functions that
/// compute the same here. An empty version is that of Keras 3.
void rename_activations(Json& json, std::string_view version);

}  // namespace etude
