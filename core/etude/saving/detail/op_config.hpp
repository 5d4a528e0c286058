#pragma once

/// Private to core/saving: the ops of functional models as JSON in Keras's form.
#include <memory>
#include <string>

#include "etude/layers/operation.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude {

/// An op without its calls. Throws Error(value) unless it is an elementwise op of tensors and numbers.
Json op_to_json(const Operation& op);
/// The arguments of its call: `inputs`, and the numbers among its operands.
Json op_arguments(const Operation& op, const Json& inputs);
/// The op of that class, whose operands are these arguments: a number, or an object for a tensor. Throws Error(value)
/// for a class that is not an elementwise op, Error(data) for other arguments.
std::shared_ptr<Operation> op_from_json(const std::string& class_name, const std::string& name, const Json& arguments);

}  // namespace etude
