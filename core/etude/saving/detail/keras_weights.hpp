#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/graph/variable.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

/// A group of Keras's weight files: the variables of one layer, as its datasets "0", "1", ….
struct KerasWeights {
  /// The group, such as "layers/dense_1/vars". It names places in the model by Python's attributes and by classes, not
  /// by the names of layers. Source: _save_state in keras/src/saving/saving_lib.py.
  std::string path;
  /// The layer's name, an attribute of the group.
  std::string name;
  /// The variables, in Keras's order.
  std::vector<Variable> variables;
  /// Whether Keras keeps a counter after them, which a trained layer does not use: that of an adapted Normalization.
  bool is_counted = false;
  /// The dataset "idf_weights" of an IntegerLookup of "tf_idf".
  std::optional<Tensor> idf_weights = {};
  /// The layer; null for a part of one, and for optimizers.
  const Layer* layer = nullptr;
};

/// The attribute, in Python, of a class of layers that holds the layer inside, if `part` is empty, or that part of its
/// variables, such as "query" of "query/kernel". Empty if there is none: then the layers inside are a list.
std::string_view attribute_of(std::string_view class_name, std::string_view part);

/// The groups of a layer, or model, and of the layers inside; also those without variables, as Keras writes them. A
/// layer that stands at several places has the first one.
std::vector<KerasWeights> keras_weights(const Layer& layer);

}  // namespace etude
