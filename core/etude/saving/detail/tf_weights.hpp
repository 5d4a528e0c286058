#pragma once

#include <string>

#include "etude/saving/detail/reading.hpp"
#include "etude/training/load_weights_options.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// Sets the weights of a model from a checkpoint of TensorFlow, which tf.keras or tf.train.Checkpoint wrote: all or
/// none. If the model is compiled, and the checkpoint has the state of such an optimizer, that is set, too, and its
/// learning rate, as tf.keras does; otherwise a warning says so. Layers are found by their places, and their weights by
/// the names that tf.keras gives them. One value is in memory at a time. `path` is the common beginning of the files'
/// names, or the name of the index. With skip_mismatch, layers whose weights differ keep their values. Throws
/// Error(data) for damaged files and for other layers, Error(value) in builds without this reader, such as the module;
/// Error(io).
void load_tf_checkpoint(Model& model, const std::string& path, const LoadWeightsOptions& options, Reading& reading);

}  // namespace etude
