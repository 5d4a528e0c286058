#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "etude/optimizers/optimizer.hpp"
#include "etude/saving/detail/tf_object_graph.hpp"

namespace etude {

/// A variable, and the name of its value in a checkpoint of TensorFlow.
struct TfVariable {
  Variable variable;
  std::string key;
};

/// The objects of trained variables, by their ids.
using TfObjects = std::map<const void*, std::uint32_t>;

/// The variables of an optimizer that is built for these trained variables, as `object` of a checkpoint has them: in
/// its list of variables, or as slots of the trained variables in older versions of tf.keras. Nothing if it has others.
std::optional<std::vector<TfVariable>> find_tf_optimizer(const TfObjectGraph& graph, std::uint32_t object,
                                                         const Optimizer& optimizer,
                                                         const std::vector<Variable>& trained,
                                                         const TfObjects& objects);

}  // namespace etude
