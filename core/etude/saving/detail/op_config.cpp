#include "etude/saving/detail/op_config.hpp"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "etude/base/error.hpp"

namespace etude {

Json op_to_json(const Operation& op) {
  const std::string where = std::string(op.class_name()) + " \"" + op.name() + '"';
  check(op.elementwise() && op.elementwise()->module, ErrorKind::value, where,
        "an op without a config - expected elementwise ops of tensors and numbers alone - use a layer in its place, or "
        "save the model's weights instead, and create the model in code.");
  return {{"module", op.elementwise()->module},
          {"class_name", op.class_name()},
          {"config", {{"name", op.name()}}},
          {"registered_name", op.class_name()}};
}

Json op_arguments(const Operation& op, const Json& inputs) {
  Json arguments = Json::array();
  std::size_t next = 0;
  for (const std::optional<double>& number : op.numbers()) {
    check(std::isfinite(number.value_or(0)), ErrorKind::value, std::string(op.class_name()) + " \"" + op.name() + '"',
          "the number ", number.value_or(0),
          " - expected a finite one, because JSON has no other - use a layer in its "
          "place.");
    arguments.push_back(number ? Json(*number) : inputs.at(next++));
  }
  return arguments;
}

std::shared_ptr<Operation> op_from_json(const std::string& class_name, const std::string& name, const Json& arguments) {
  const std::string where = class_name + " \"" + name + '"';
  const ElementwiseOp* op = elementwise_op_of_class(class_name);
  check(op != nullptr, ErrorKind::value, where,
        "an op that is not elementwise - expected one such as Add or Exp - use a layer in its place.");
  std::vector<std::optional<double>> numbers;
  std::size_t tensors = 0;
  for (const Json& argument : arguments) {
    check(argument.is_number() || argument.is_object(), ErrorKind::data, where, "an operand ",
          json_text(argument).substr(0, 80), " - expected tensors and numbers - create the model in code.");
    numbers.push_back(argument.is_number() ? std::optional(argument.get<double>()) : std::nullopt);
    tensors += argument.is_object() ? 1 : 0;
  }
  check(tensors > 0 && numbers.size() == (op->unary ? 1U : 2U), ErrorKind::data, where, numbers.size(), " operands, ",
        tensors, " of them tensors - expected ", op->unary ? 1 : 2, ", and at least one tensor - check the text.");
  return std::make_shared<Operation>(*op, std::move(numbers), name);
}

}  // namespace etude
