#include <algorithm>
#include <limits>
#include <string_view>

#include "etude/graph/detail/node.hpp"
#include "etude/saving/detail/onnx/node_writer.hpp"

namespace etude::onnx {
namespace {

/// An elementwise op as an operator of ONNX. Square, Log1p and IsFinite give it other operands, below.
struct Row {
  std::string_view op, operator_name;
};
constexpr Row rows[]{
    {"Negate", "Neg"},
    {"Absolute", "Abs"},
    {"Sign", "Sign"},
    {"Square", "Mul"},
    {"Sqrt", "Sqrt"},
    {"Exp", "Exp"},
    {"Log", "Log"},
    {"Log1p", "Log"},
    {"Sin", "Sin"},
    {"Cos", "Cos"},
    {"Arctan", "Atan"},
    {"Tanh", "Tanh"},
    {"Sigmoid", "Sigmoid"},
    {"Relu", "Relu"},
    {"Softplus", "Softplus"},
    {"Erf", "Erf"},
    {"Floor", "Floor"},
    {"LogicalNot", "Not"},
    {"IsFinite", "Less"},
    {"Add", "Add"},
    {"Subtract", "Sub"},
    {"Multiply", "Mul"},
    {"Divide", "Div"},
    {"Power", "Pow"},
    {"Maximum", "Max"},
    {"Minimum", "Min"},
    {"Equal", "Equal"},
    {"Less", "Less"},
    {"LessEqual", "LessOrEqual"},
    {"LogicalAnd", "And"},
    {"LogicalOr", "Or"},
    {"Select", "Where"},
};

bool is_logical(std::string_view operator_name) {
  return operator_name == "Not" || operator_name == "And" || operator_name == "Or";
}

}  // namespace

std::string NodeWriter::elementwise() {
  const Node& node = this->node();
  const std::string_view name = name_of(node.op);
  const auto row = std::ranges::find(rows, name, &Row::op);
  if (row == std::end(rows)) to.refuse(id);
  const std::string_view op_type = row->operator_name;
  Names operands = to.elementwise_operands(node);

  // Operators of numbers lack bytes and booleans, and those of conditions have only booleans.
  const DType dtype = operand(node.inputs.size() - 1).dtype;
  const bool widened = size_of(dtype) == 1 && op_type != "Where" && !is_logical(op_type);
  if (widened)
    for (std::string& x : operands) x = to.cast(x, DType::int32);
  if (is_logical(op_type) && dtype != DType::boolean)
    for (std::string& x : operands) x = to.cast(x, DType::boolean);

  if (name == "Square") operands.push_back(operands.front());
  if (name == "Log1p") operands = {to.add("Add", {operands.front(), to.file_.scalar(1, dtype)})};
  if (name == "IsFinite")  // false for NaN, too
    operands = {to.add("Abs", operands), to.file_.scalar(std::numeric_limits<double>::infinity(), dtype)};
  if (!widened || node.dtype == DType::boolean) return result(op_type, operands);
  return to.cast(to.add(op_type, operands), node.dtype, to.result_name(id));
}

}  // namespace etude::onnx
