#pragma once

/// Private to core/saving: models in the form of TensorFlow.js, which is that of Keras 2.
#include "etude/saving/detail/json.hpp"

namespace etude {

/// A model of Keras's form, as model_to_json() returns it, as the "modelTopology" of a layers model of TensorFlow.js
/// 4.22. Throws Error(value) that names the layer, op or option that TensorFlow.js lacks.
Json tfjs_topology(const Json& model);

/// A topology that TensorFlow.js wrote in the form that model_from_json() reads.
Json read_tfjs_topology(const Json& topology);

}  // namespace etude
