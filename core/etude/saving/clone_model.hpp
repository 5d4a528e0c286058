#pragma once

#include <functional>

#include "etude/layers/layer.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// Returns the layer that takes the place of a layer in a clone.
using CloneFunction = std::function<LayerPtr(const LayerPtr& layer)>;

/// A model of the same structure with new layers and new weights, not compiled. Each layer of the clone is the result
/// of `clone_function`, called once for each layer except InputLayers and ops; without a function it is a new layer of
/// the same config. A layer that the function returns unchanged is shared by both models. Layers inside other layers
/// are cloned with these. Throws Error(value) for a model that is neither Sequential nor Functional, for a layer
/// without a config, and if the function returns null. Source: keras/src/models/cloning.py.
ModelPtr clone_model(const Model& model, const CloneFunction& clone_function = {});

}  // namespace etude
