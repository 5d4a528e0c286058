#pragma once

/// Private to core/saving: the ops of functional models as JSON in Keras's form.
#include <memory>
#include <string>
#include <vector>

#include "etude/layers/operation.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude {

/// An op without its calls. Throws Error(value) unless it is a function that Keras has, of arguments that it can have.
Json op_to_json(const Operation& op);
/// The call of an op, whose tensors are `inputs`: {"args": …, "kwargs": …}.
Json op_node(const Operation& op, const Json& inputs);
/// The op of a layer of a model and of its call. `histories` gets the histories of the tensors of the call, which must
/// outlive neither. Throws Error(value) for a class that Étude lacks and for arguments that it does not support,
/// Error(data) for others.
std::shared_ptr<Operation> op_from_json(const Json& layer, const Json& node, const std::string& name,
                                        std::vector<const Json*>& histories);

}  // namespace etude
