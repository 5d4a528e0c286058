#pragma once

#include <cstdint>
#include <string>

#include "etude/training/model.hpp"

namespace etude {

/// Options of plot_model; except for the first one, those of model_to_dot.
struct PlotModelOptions {
  /// The file. Its ending is a format that Graphviz writes, such as .png, .svg or .pdf; without one it is a PNG. A file
  /// .dot or .gv is the text of model_to_dot, for which Graphviz is not needed.
  std::string to_file = "model.png";
  /// Whether the shapes of inputs and outputs are shown.
  bool show_shapes = false;
  /// Whether the dtypes of outputs are shown.
  bool show_dtype = false;
  /// Whether the names of layers are shown.
  bool show_layer_names = false;
  /// The direction of the graph: "TB" from top to bottom, "LR" from left to right.
  std::string rankdir = "TB";
  /// Whether models inside the model are shown with their layers.
  bool expand_nested = false;
  /// The resolution of the picture, in dots per inch.
  std::int64_t dpi = 200;
  /// Whether the names of the layers' activations are shown.
  bool show_layer_activations = false;
  /// Whether layers with weights are marked as trainable or not.
  bool show_trainable = false;
};

/// Draws a model into a file, by Graphviz's program `dot`, which is found along PATH. Throws as model_to_dot does;
/// Error(value) for the ending of a file that is no format, Error(state) without Graphviz, Error(io) if it cannot write
/// the file. Source: keras/src/utils/model_visualization.py.
void plot_model(const Model& model, const PlotModelOptions& options = {});

}  // namespace etude
