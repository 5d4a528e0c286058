#pragma once

#include <string>
#include <vector>

#include "etude/graph/variable.hpp"
#include "etude/layers/layer.hpp"
#include "etude/saving/safetensors.hpp"

namespace etude {

/// A variable by a name that does not depend on what layers are called: where it stands in its model, by the classes of
/// the layers around it, such as "dense_1/kernel". So a model made anew by the same code has the same names.
struct NamedVariable {
  std::string name;
  Variable variable;
};

/// The weights of a layer, or model, and those of the layers inside.
std::vector<NamedVariable> named_weights(const Layer& layer);
/// What it has besides: the state of random draws, and of stateful layers.
std::vector<NamedVariable> named_states(const Layer& layer);

/// Variables by their places: of an optimizer, what belongs to which weight follows from their order.
std::vector<NamedVariable> numbered(const std::vector<Variable>& variables);

/// The layers that draw, each by where it stands, as above.
struct NamedLayer {
  std::string name;
  LayerPtr layer;
};
std::vector<NamedLayer> drawing_layers(const Layer& layer);

/// Their values, in that order.
std::vector<NamedTensor> values_of(const std::vector<NamedVariable>& variables);
/// Sets them to the tensors of those names. Throws Error(data), and sets none, if a name is missing or not wanted, or a
/// shape is another one; `where` is what errors call the tensors.
void assign_all(const std::vector<NamedVariable>& variables, const std::vector<NamedTensor>& tensors,
                const std::string& where);

}  // namespace etude
