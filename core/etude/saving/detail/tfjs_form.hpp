#pragma once

/// Private to core/saving: models in the form of TensorFlow.js, which is that of Keras 2.
#include "etude/saving/detail/json.hpp"

namespace etude {

/// A model of Keras's form, as model_to_json() returns it, as the "modelTopology" of a layers model of TensorFlow.js
/// 4.22. Throws Error(value) that names the layer, op or option that TensorFlow.js lacks.
Json tfjs_topology(const Json& model);

/// Throws Error(value) if a topology that TensorFlow.js or Keras 2 wrote has an activation that computes something else
/// here, hard_sigmoid.
void check_tfjs_activations(const Json& topology, const std::string& path);

}  // namespace etude
