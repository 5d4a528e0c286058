#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "etude/base/vfs.hpp"
#include "etude/training/model.hpp"

namespace etude {

// Model::save, Model::save_weights and Model::load_weights forward to these.

/// Implements Model::save.
void save_model(const Model& model, const std::string& folder, const SaveOptions& options);
/// Implements Model::save_weights.
void save_weights(const Model& model, const std::string& path, const SaveOptions& options);
/// Implements Model::load_weights.
void load_weights(Model& model, const std::string& path, const LoadWeightsOptions& options);
/// Implements Model::load_weights_task.
Task<> load_weights_task(Model& model, std::string path, LoadWeightsOptions options);
/// The same from the bytes of a file.
void load_weights(Model& model, std::span<const std::byte> bytes, const LoadWeightsOptions& options);

/// Files in memory: one of that name, of these bytes, which must outlive it.
std::shared_ptr<Vfs> files_with(const std::string& name, std::span<const std::byte> bytes);

/// Throws Error(value) for names of formats and places that Étude's save() does not write, such as "model.keras" and
/// "localstorage://model"; `where` is the caller's name in errors.
void check_saves_to(const std::string& folder, std::string_view where);
/// Throws Error(value) for a name that does not end as those of files of weights; `where` is the caller's name in
/// errors.
void check_is_weights_file(const std::string& path, std::string_view where);
/// Throws Error(io) if there is something at the path that the options keep; `where` is the caller's name in errors.
void check_may_write(const std::string& path, const SaveOptions& options, std::string_view where);
/// The document "config" of a saved model, from which load_model() makes it: its layers and how it was compiled. Throws
/// Error(value) for a model of classes or with functions that have no name.
std::string saved_config(const Model& model);
/// Throws Error(state) unless the model is built; `where` is the caller's name in errors.
void check_built(const Model& model, std::string_view where);
/// The same as check_saves_to for names of places only.
void check_is_path(const std::string& path, std::string_view where);

}  // namespace etude
