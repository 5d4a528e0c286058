#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "etude/base/detail/stored_tensor.hpp"
#include "etude/graph/variable.hpp"
#include "etude/layers/layer.hpp"
#include "etude/saving/detail/reading.hpp"
#include "etude/saving/detail/write_count.hpp"
#include "etude/saving/safetensors.hpp"

namespace etude {

/// A variable with a name that does not depend on the names of layers: its place in the model, by the classes of the
/// enclosing layers, such as "dense_1/kernel". So a model rebuilt by the same code has the same names.
struct NamedVariable {
  std::string name;
  Variable variable;
};

/// The weights of a layer, or model, and those of the layers inside.
std::vector<NamedVariable> named_weights(const Layer& layer);
/// Its other variables: the states of random draws and of stateful layers.
std::vector<NamedVariable> named_states(const Layer& layer);

/// Sets states of a loaded model that have no value to 0, as in a new one, for files without states. A file must not
/// say how much memory that takes: throws Error(data) for states of many more bytes than the weights. `where` is the
/// prefix of errors.
void clear_states(const Layer& layer, std::string_view where);

/// Variables named by their numbers: for an optimizer, whose order of variables determines the weight of each.
std::vector<NamedVariable> numbered(const std::vector<Variable>& variables);

/// These variables without others.
std::vector<Variable> without(std::vector<Variable> variables, const std::vector<Variable>& others);

/// The layers that draw random numbers, each with its place, as above.
struct NamedLayer {
  std::string name;
  LayerPtr layer;
};
std::vector<NamedLayer> drawing_layers(const Layer& layer);

/// Their values, in that order.
std::vector<NamedTensor> values_of(const std::vector<NamedVariable>& variables);
/// The same; each is copied when it is requested. With a count, which must outlive them, they are counted as they are
/// copied to be written.
std::vector<StoredTensor> stored_values_of(const std::vector<NamedVariable>& variables, WriteCount* count = nullptr);
/// Sets them to the tensors of those names. Throws Error(data) and sets none if a name is missing or superfluous, or a
/// shape differs; `where` is the prefix of errors. All tensors are read once before the first is set, so that a damaged
/// one sets none; one tensor is in memory at a time.
Task<> assign_all(std::vector<NamedVariable> variables, std::vector<StoredTensor> tensors, std::string where,
                  Reading& reading);
/// The same of tensors in memory, each of which is released after it was assigned.
void assign_all(const std::vector<NamedVariable>& variables, std::vector<NamedTensor> tensors, const std::string& where,
                const LoadProgress& progress = {});

}  // namespace etude
