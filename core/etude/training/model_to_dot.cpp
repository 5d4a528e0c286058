#include "etude/training/model_to_dot.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "etude/activations/activations.hpp"
#include "etude/base/error.hpp"
#include "etude/training/detail/layer_text.hpp"
#include "etude/training/functional.hpp"
#include "etude/training/sequential.hpp"

namespace etude {
namespace {

/// A name as text of HTML, of which labels consist.
std::string html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    constexpr std::array<std::pair<char, const char*>, 4> special{
        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}}};
    const auto* found = std::ranges::find(special, c, &std::pair<char, const char*>::first);
    if (found == special.end())
      result += c;
    else
      result += found->second;
  }
  return result;
}

/// The activation in a layer's options; "" for layers without that option.
std::string activation_of(const Layer& layer) {
  const Description& description = layer.description();
  if (description.empty()) return "";
  for (const Field& field : description.entry().fields) {
    if (std::string_view(field.name) != "activation" || field.type != field_type<Activation>) continue;
    const auto& activation = *static_cast<const Activation*>(field.member(description.options()));
    return activation.is_function() ? "function" : activation.name().empty() ? "linear" : activation.name();
  }
  return "";
}

bool is_graph(const Layer& layer) {
  return dynamic_cast<const Sequential*>(&layer) || dynamic_cast<const Functional*>(&layer);
}

class Writer {
 public:
  explicit Writer(const ModelToDotOptions& options) : options_(options) {}

  void add(const Model& model) {
    if (!is_graph(model)) return add_node(model, "");
    add_nodes(model, "");
    add_edges(model);
  }
  std::string text;

 private:
  std::string node(const Layer& layer) {
    return "layer_" + std::to_string(numbers_.emplace(&layer, numbers_.size()).first->second);
  }

  static std::string cell(const std::string& label, const std::string& value) {
    return "<td bgcolor=\"white\"><font point-size=\"14\">" + label + ": <b>" + html(value) + "</b></font></td>";
  }

  std::string cells_of(const Layer& layer, int& count) const {
    std::string cells;
    const auto add = [&](const std::string& cell) {
      cells += cell;
      ++count;
    };
    if (options_.show_shapes) {
      if (layer.class_name() != "InputLayer") add(cell("Input shape", input_shapes_text(layer)));
      add(cell("Output shape", output_shapes_text(layer)));
    }
    if (options_.show_dtype) add(cell("Output dtype", output_dtype_text(layer)));
    if (options_.show_trainable && !layer.weights().empty())
      add(std::string("<td bgcolor=\"") + (layer.trainable() ? "forestgreen" : "firebrick") +
          "\"><font point-size=\"14\" color=\"white\"><b>" + (layer.trainable() ? "Trainable" : "Non-trainable") +
          "</b></font></td>");
    return cells;
  }

  void add_node(const Layer& layer, const std::string& indent) {
    int count = 0;
    const std::string cells = cells_of(layer, count), class_name = html(layer.class_name());
    const std::string columns = " colspan=\"" + std::to_string(std::max(count, 1)) + '"';
    const std::string activation = options_.show_layer_activations ? activation_of(layer) : "";
    text += indent + "  " + node(layer) + " [label=<<table border=\"0\" cellborder=\"1\" bgcolor=\"black\" " +
            "cellpadding=\"10\"><tr><td" + columns + " bgcolor=\"black\"><font point-size=\"16\" color=\"white\">" +
            (options_.show_layer_names ? "<b>" + html(layer.name()) + "</b> (" + class_name + ')'
                                       : "<b>" + class_name + "</b>") +
            "</font></td></tr>" +
            (activation.empty() ? ""
                                : "<tr><td bgcolor=\"white\"" + columns + "><font point-size=\"14\">Activation: <b>" +
                                      html(activation) + "</b></font></td></tr>") +
            (count ? "<tr>" + cells + "</tr>" : "") + "</table>>, fontname=Helvetica, border=0, margin=0];\n";
  }

  void add_nodes(const Layer& model, const std::string& indent) {
    for (const LayerPtr& layer : model.layers()) {
      if (!options_.expand_nested || !is_graph(*layer)) {
        add_node(*layer, indent);
        continue;
      }
      text += indent + "  subgraph cluster_" + node(*layer) + " {\n" + indent + "    style=dashed;\n" + indent +
              "    label=<" + html(layer->name()) + ">;\n" + indent + "    labeljust=l;\n";
      add_nodes(*layer, indent + "  ");
      text += indent + "  }\n";
    }
  }

  /// The layer whose box gives an output of `layer`: that of a model inside is shown instead of the model.
  const Layer* source(const Layer& layer, std::size_t output) const {
    if (!options_.expand_nested) return &layer;
    if (const auto* functional = dynamic_cast<const Functional*>(&layer)) {
      const SymbolicTensor tensor = functional->outputs().at(output);
      return source(*tensor.call()->layer, tensor.output());
    }
    const auto* sequential = dynamic_cast<const Sequential*>(&layer);
    return !sequential ? &layer : sequential->layers().empty() ? nullptr : source(*sequential->layers().back(), 0);
  }
  /// The layer whose box receives an input of `layer`.
  const Layer* destination(const Layer& layer, std::size_t input) const {
    if (!options_.expand_nested) return &layer;
    if (const auto* functional = dynamic_cast<const Functional*>(&layer))
      return functional->inputs().at(input).call()->layer.get();
    const auto* sequential = dynamic_cast<const Sequential*>(&layer);
    return !sequential                    ? &layer
           : sequential->layers().empty() ? nullptr
                                          : destination(*sequential->layers().front(), 0);
  }

  void add_edge(const Layer* from, const Layer* to) {
    if (!from || !to || !edges_.emplace(from, to).second) return;
    text += "  " + node(*from) + "->" + node(*to) + " [penwidth=2];\n";
  }

  void add_edges(const Layer& model) {
    const std::vector<LayerPtr> layers = model.layers();
    if (const auto* functional = dynamic_cast<const Functional*>(&model)) {
      for (const auto& call : calls_behind(functional->outputs()))
        for (std::size_t i = 0; i < call->inputs.size(); ++i)
          add_edge(source(*call->inputs[i].call()->layer, call->inputs[i].output()), destination(*call->layer, i));
    } else {
      for (std::size_t i = 1; i < layers.size(); ++i) add_edge(source(*layers[i - 1], 0), destination(*layers[i], 0));
    }
    if (!options_.expand_nested) return;
    for (const LayerPtr& layer : layers)
      if (is_graph(*layer)) add_edges(*layer);
  }

  const ModelToDotOptions& options_;
  std::unordered_map<const Layer*, std::size_t> numbers_;
  std::set<std::pair<const Layer*, const Layer*>> edges_;
};

}  // namespace

std::string model_to_dot(const Model& model, const ModelToDotOptions& options) {
  constexpr std::array<std::string_view, 4> directions{"TB", "BT", "LR", "RL"};
  check(std::ranges::find(directions, options.rankdir) != directions.end(), ErrorKind::value, "model_to_dot",
        "rankdir \"", options.rankdir, "\" - expected one of TB, BT, LR, RL - choose one.");
  check(options.dpi >= 1, ErrorKind::value, "model_to_dot", "dpi = ", options.dpi, " - expected 1 or more - set dpi.");
  check(model.built(), ErrorKind::state, "model_to_dot", "the model \"", model.name(),
        "\", which is not built - expected a built one - call build() before, or begin it with an InputLayer.");
  static_cast<void>(model.layers_inside());  // throws if they are nested too deep
  Writer writer(options);
  writer.text = "digraph G {\n  rankdir=" + options.rankdir +
                ";\n  concentrate=true;\n  dpi=" + std::to_string(options.dpi) +
                ";\n  splines=ortho;\n  node [shape=record];\n";
  writer.add(model);
  return writer.text + "}\n";
}

}  // namespace etude
