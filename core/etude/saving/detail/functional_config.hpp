#pragma once

/// Private to core/saving: Functional models as JSON in Keras's form: each layer has a node for each of its calls. A
/// node lists the input tensors by their history: a layer, the number of its call, and the number of the call's output.
#include <optional>

#include "etude/saving/detail/json.hpp"
#include "etude/training/functional.hpp"

namespace etude {

/// A layer of a model, with the shape of its only input.
Json layer_json(const Layer& layer, const std::optional<Shape>& input);
/// The config of a model: its layers, their calls, its inputs and outputs.
Json functional_config(const Functional& model);

}  // namespace etude
