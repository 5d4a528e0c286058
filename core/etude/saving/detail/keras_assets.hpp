#pragma once

/// Private to core/saving: the state of layers that adapt to data, in a .keras file.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etude/saving/detail/json.hpp"
#include "etude/training/model.hpp"

namespace etude {

// Keras writes a vocabulary that a layer has found in data to a text of one token a line, such as
// "assets/layers/string_lookup/vocabulary.txt", and a vocabulary that its options have to the config. In Étude the
// config always has it. Source: IndexLookup.save_assets in keras/src/layers/preprocessing/index_lookup.py.

/// The content of a .keras file at a path: the text of an asset, or the dataset of weights; nothing if there is none.
struct KerasAssets {
  std::function<std::optional<std::string>(const std::string& path)> text;
  std::function<std::optional<Tensor>(const std::string& path)> weights;
};
/// Adds the vocabularies of all layers to the config of a model, and the weights of "tf_idf". Throws Error(data) for
/// texts that are not UTF-8, and for lines of IntegerLookup that are no integers; `where` is the prefix of errors.
void add_vocabularies(Json& model, const KerasAssets& assets, const std::string& where);

/// Converts the config of a model to Keras's form, for layers that have adapted to data: adds the boundaries of
/// Discretization, and removes vocabularies. Returns the files of these: their paths and texts.
std::vector<std::pair<std::string, std::string>> describe_adapted(const Model& model, Json& json);

/// Models have no strings, so a model of Keras begins in Étude after its layers of strings. Replaces the inputs of
/// strings in the config of a model, and the layers that have them, by inputs of the results of these layers. Returns
/// the configs of these layers, in their order.
std::vector<Json> take_string_layers(Json& model);

}  // namespace etude
