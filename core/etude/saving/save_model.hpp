#pragma once

#include <string>
#include <string_view>

#include "etude/training/model.hpp"

namespace etude {

// Model::save, Model::save_weights and Model::load_weights forward to these.

/// Saves a model, as Model::save says.
void save_model(const Model& model, const std::string& folder);
/// Saves the weights alone, as Model::save_weights says.
void save_weights(const Model& model, const std::string& path);
/// Sets the weights from a file, as Model::load_weights says.
void load_weights(Model& model, const std::string& path);

/// Throws Error(value) for names of formats and places that Étude's save() does not write, such as "model.keras" and
/// "localstorage://model"; `where` is what errors call the caller.
void check_saves_to(const std::string& folder, std::string_view where);
/// The same for names of places alone.
void check_is_path(const std::string& path, std::string_view where);

}  // namespace etude
