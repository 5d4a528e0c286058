#pragma once

#include <functional>
#include <string>
#include <vector>

#include "etude/saving/detail/model_state.hpp"
#include "etude/training/model.hpp"

namespace etude {

// Layers models of TensorFlow.js: a model.json, and files of weights beside it.

/// The weights of a model under the names that TensorFlow.js gives them: by the names of layers, "dense_1/kernel".
std::vector<NamedVariable> named_tfjs_weights(const Model& model);

/// Writes a file that tf.loadLayersModel() of TensorFlow.js loads, and files of at most 4 MiB of weights beside it:
/// layers and weights, without the arguments of compile(). Throws Error(value) for a layer that TensorFlow.js lacks.
void save_tfjs(const Model& model, const std::string& path, WriteCount& count);
/// The model in such a file. `compile`: as its trainingConfig says; the optimizer starts from its initial state. Throws
/// Error(value) for a graph model, and Error(data) for a damaged one. The arguments must outlive the Task.
Task<ModelPtr> load_tfjs(const std::string& path, bool compile, Reading& reading);

/// Names the weights in such a file, which has this text, as named_weights() does, "dense/kernel", by the layers that
/// it describes. Names stay as they are if it describes none that Étude has; those of an optimizer become empty.
std::function<std::string(const std::string& name)> tfjs_weight_names(std::string_view text, const std::string& path);

}  // namespace etude
