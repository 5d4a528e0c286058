#pragma once

#include <map>
#include <memory>
#include <string>

#include "etude/base/task.hpp"
#include "etude/layers/string_layer.hpp"
#include "etude/saving/detail/reading.hpp"
#include "etude/saving/detail/write_count.hpp"
#include "etude/training/load_weights_options.hpp"
#include "etude/training/model.hpp"

namespace etude {

// Files of Keras. Nothing in them is executed, and no other file is opened. The arguments of functions that load must
// outlive its Task.

/// Writes a .keras file, which Keras 3 loads: the description, the weights, vocabularies, and the state of the
/// optimizer unless that is a custom one; then it warns.
void save_keras(const Model& model, const std::string& path, WriteCount& count);
/// The model in a .keras file of Keras 3, or of Keras 2.13 and later. `compile`: as it was compiled, with the state of
/// its optimizer. If that does not fit, it warns, and the optimizer starts from its initial state.
Task<ModelPtr> load_keras(const std::string& path, bool compile, Reading& reading);

/// The layers of strings that load_keras leaves out, by their names, with their vocabularies.
std::map<std::string, std::shared_ptr<StringLayer>> load_keras_strings(const std::string& path);

/// The model in an .h5 file, as Keras 2 writes it; `compile` as above.
Task<ModelPtr> load_h5(const std::string& path, bool compile, Reading& reading);

/// Writes a .weights.h5 file, which Keras 3 loads.
void save_keras_weights(const Model& model, const std::string& path, WriteCount& count);
/// Sets the weights from a .keras, .weights.h5 or .weights.json file of Keras 3, or from an .h5 file of Keras 2, by the
/// places of the layers or by their names. Sets all or none.
Task<> load_keras_weights(Model& model, const std::string& path, const LoadWeightsOptions& options, Reading& reading);

}  // namespace etude
