#include "etude/saving/detail/keras_weights.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "etude/classes/detail/snake_case.hpp"
#include "etude/layers/preprocessing_layer.hpp"
#include "etude/saving/detail/numbering.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

/// A row of attribute_of.
struct Attribute {
  std::string_view class_name;
  std::string_view part;       ///< of the variables: "query" of "query/kernel"; empty for a layer inside
  std::string_view attribute;  ///< in Python
};
constexpr std::array attributes{
    Attribute{"LSTM", "", "cell"},
    Attribute{"GRU", "", "cell"},
    Attribute{"SimpleRNN", "", "cell"},
    Attribute{"RNN", "", "cell"},
    Attribute{"ConvLSTM1D", "", "cell"},
    Attribute{"ConvLSTM2D", "", "cell"},
    Attribute{"ConvLSTM3D", "", "cell"},
    Attribute{"TimeDistributed", "", "layer"},
    Attribute{"SpectralNormalization", "", "layer"},
    Attribute{"Bidirectional", "", "forward_layer"},
    Attribute{"MultiHeadAttention", "query", "query_dense"},
    Attribute{"MultiHeadAttention", "key", "key_dense"},
    Attribute{"MultiHeadAttention", "value", "value_dense"},
    Attribute{"MultiHeadAttention", "gate", "_gate_dense"},
    Attribute{"MultiHeadAttention", "attention_output", "output_dense"},
    Attribute{"GroupedQueryAttention", "query", "_query_dense"},
    Attribute{"GroupedQueryAttention", "key", "_key_dense"},
    Attribute{"GroupedQueryAttention", "value", "_value_dense"},
    Attribute{"GroupedQueryAttention", "gate", "_gate_dense"},
    Attribute{"GroupedQueryAttention", "attention_output", "_output_dense"},
};

/// The list of a class that holds the layers inside.
std::string_view list_of(std::string_view class_name) { return class_name == "StackedRNNCells" ? "cells" : "layers"; }

class Walk {
 public:
  explicit Walk(const Layer& layer) {
    static_cast<void>(layer.layers_inside());  // throws if they are nested too deep
    visit(layer, "");
  }

  std::vector<KerasWeights> groups;

 private:
  void visit(const Layer& layer, const std::string& path) {
    if (!seen_.insert(&layer).second) return;
    add_variables(layer, path);
    const std::vector<LayerPtr> inside = layer.layers();
    const std::string_view attribute = attribute_of(layer.class_name(), "");
    if (attribute.empty())
      visit_list(inside, path + std::string(list_of(layer.class_name())) + '/');
    else if (!inside.empty())
      visit(*inside.front(), path + std::string(attribute) + '/');
    if (layer.class_name() == "Bidirectional" && inside.size() > 1) visit(*inside[1], path + "backward_layer/");
  }

  void visit_list(const std::vector<LayerPtr>& layers, const std::string& path) {
    Numbering numbering;
    for (const LayerPtr& each : layers)
      if (!each->is_operation()) visit(*each, path + numbering.next(snake_case(each->class_name())) + '/');
  }

  /// The layer's own variables, and those of its parts, which are layers of their own in Keras.
  void add_variables(const Layer& layer, const std::string& path) {
    const std::size_t own = groups.size();
    const bool is_counted = layer.class_name() == "Normalization" && !layer.own_weights().empty();
    groups.push_back({path + "vars", layer.name(), {}, is_counted, {}, &layer});
    if (const auto* lookup = dynamic_cast<const PreprocessingLayer*>(&layer))
      groups.back().idf_weights = lookup->idf_weights();
    // Keras tracks the kernel in the wrapper, too.
    if (layer.class_name() == "SpectralNormalization" && layer.built())
      groups[own].variables.push_back(layer.layers().front()->own_weights().front());
    for (const Variable& variable : layer.own_weights()) {
      const std::string_view attribute = attribute_of(layer.class_name(), part_of(variable, layer));
      if (attribute.empty() || part_of(variable, layer).empty())
        groups[own].variables.push_back(variable);
      else
        group_at(path + std::string(attribute) + "/vars", std::string(part_of(variable, layer)))
            .variables.push_back(variable);
    }
  }

  KerasWeights& group_at(const std::string& path, std::string name) {
    const auto found = std::ranges::find(groups, path, &KerasWeights::path);
    if (found != groups.end()) return *found;
    groups.push_back({path, std::move(name), {}});
    return groups.back();
  }

  /// "query" of "attention/query/kernel" in the layer "attention"; empty for "attention/kernel".
  static std::string_view part_of(const Variable& variable, const Layer& layer) {
    std::string_view name = variable.name();
    if (!name.starts_with(layer.name() + '/')) return {};
    name.remove_prefix(layer.name().size() + 1);
    const std::size_t end = name.rfind('/');
    return end == name.npos ? std::string_view() : name.substr(0, end);
  }

  std::set<const Layer*> seen_;
};

}  // namespace

std::string_view attribute_of(std::string_view class_name, std::string_view part) {
  const auto found = std::ranges::find_if(
      attributes, [&](const Attribute& each) { return each.class_name == class_name && each.part == part; });
  return found == attributes.end() ? std::string_view() : found->attribute;
}

std::vector<KerasWeights> keras_weights(const Layer& layer) { return Walk(layer).groups; }

}  // namespace etude
