#pragma once

#include <cstdint>
#include <string>

#include "etude/training/model.hpp"

namespace etude {

/// Options of model_to_dot.
struct ModelToDotOptions {
  bool show_shapes = false;
  bool show_dtype = false;
  bool show_layer_names = true;
  std::string rankdir = "TB";
  bool expand_nested = false;
  std::int64_t dpi = 200;
  bool show_layer_activations = false;
  bool show_trainable = false;
  template <class O = ModelToDotOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::show_shapes>("Whether the shapes of inputs and outputs are shown."),
        option<&O::show_dtype>("Whether the dtypes of outputs are shown."),
        option<&O::show_layer_names>("Whether the names of layers are shown."),
        option<&O::rankdir>("Direction of the graph: \"TB\" from top to bottom, \"LR\" from left to right."),
        option<&O::expand_nested>("Whether models inside the model are shown with their layers."),
        option<&O::dpi>("Resolution of the picture, in dots per inch."),
        option<&O::show_layer_activations>("Whether the names of the layers' activations are shown."),
        option<&O::show_trainable>("Whether layers with weights are marked as trainable or not."));
  }
};

/// The graph of a model in the DOT language, from which Graphviz draws a picture: `dot -Tsvg model.dot`. A node for
/// each layer, and an edge for each tensor between two layers. A model that is neither Sequential nor Functional is one
/// node. Throws Error(state) for a model that is not built, Error(value) for a rankdir other than TB, BT, LR and RL,
/// and for a dpi below 1. Source: keras/src/utils/model_visualization.py.
std::string model_to_dot(const Model& model, const ModelToDotOptions& options = {});

}  // namespace etude
