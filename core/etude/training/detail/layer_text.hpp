#pragma once

/// Private to core/training: what summary() and model_to_dot() print about layers.
#include <string>

#include "etude/layers/symbolic.hpp"

namespace etude {

/// The shapes of a layer's inputs and outputs: those of its last call on SymbolicTensors, else of its last call, whose
/// first axis is the batch. "(None, 4)"; of several "[(None, 4), (None, 3)]"; before the first call "?".
std::string input_shapes_text(const Layer& layer);
std::string output_shapes_text(const Layer& layer);
/// The dtype of its outputs: "float32".
std::string output_dtype_text(const Layer& layer);

}  // namespace etude
