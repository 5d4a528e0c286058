#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "etude/base/bytes_awaited.hpp"
#include "etude/base/task.hpp"
#include "etude/base/vfs.hpp"
#include "etude/classes/field.hpp"
#include "etude/training/model.hpp"

namespace etude {

class StringLayer;

/// Options of load_model.
struct LoadModelOptions {
  /// Whether the model is compiled as it was when it was saved; its optimizer then continues from its saved state.
  bool compile = true;
  /// The files that hold the model; host().files if null.
  std::shared_ptr<Vfs> files = {};
  /// Is called after each weight.
  LoadProgress progress = {};
  template <class O = LoadModelOptions> static constexpr auto fields() {
    return option_rows(option<&O::compile>("Whether the model is compiled as it was when it was saved."));
  }
};

/// Loads the model that Model::save wrote to a folder: its layers, newly created and built, their weights, which of
/// them are trainable, and the state of their random draws. Or a model of Keras: a .keras file, or an .h5 file; its
/// optimizer continues from its saved state, and random draws start again. Or a model of layers of TensorFlow.js: a
/// model.json, with its weights beside it; its optimizer starts from its initial state. Nothing in the files is
/// executed: they can only name Étude's classes and those of register_class(). No memory is allocated for weights
/// before their shapes were compared with those in the files. Throws Error(io) if there is no such folder or file,
/// Error(value) for other formats, with the way to convert them, and for places such as "localstorage://model",
/// Error(data) for a folder or file that is damaged or holds no model.
ModelPtr load_model(const std::string& folder, const LoadModelOptions& options = {});
/// The same as a coroutine, for files whose bytes must be awaited: those that throw BytesAwaited. They are requested
/// the bytes of one weight at a time.
Task<ModelPtr> load_model_task(std::string folder, LoadModelOptions options);
/// The same from the bytes of a .keras file, or of an .h5 file of Keras 2.
ModelPtr load_model(std::span<const std::byte> bytes, const LoadModelOptions& options = {});

/// Options of load_string_layers.
struct LoadStringLayersOptions {
  /// The files that hold the model; host().files if null.
  std::shared_ptr<Vfs> files = {};
};

/// The layers of strings in a .keras file, such as TextVectorization, with their vocabularies, by their names.
/// load_model() leaves them out, because models in Étude have numbers only, with a warning: call them on the texts, and
/// pass their results to the model. Only those count that have an input of the model, in the model itself. Throws as
/// load_model() does.
///
///     const auto vectorize = load_string_layers("reviews.keras").at("text_vectorization");
///     const ModelPtr model = load_model("reviews.keras");
///     model->predict((*vectorize)(texts));
std::map<std::string, std::shared_ptr<StringLayer>> load_string_layers(const std::string& path,
                                                                       const LoadStringLayersOptions& options = {});
/// The same as a coroutine, for files whose bytes must be awaited.
Task<std::map<std::string, std::shared_ptr<StringLayer>>> load_string_layers_task(std::string path,
                                                                                  LoadStringLayersOptions options);
/// The same from the bytes of a .keras file.
std::map<std::string, std::shared_ptr<StringLayer>> load_string_layers(std::span<const std::byte> bytes);

/// The model of a text that to_json<Layer>() or Keras wrote, or of the model.json of a TensorFlow.js layers model, with
/// new weights; compiled if the text says how. Throws as from_json<Layer>() does, Error(value) for a layer that is not
/// a model, and Error(state) if memory does not suffice for the weights.
ModelPtr model_from_json(std::string_view text);

}  // namespace etude
