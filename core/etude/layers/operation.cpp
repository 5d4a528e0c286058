#include "etude/layers/operation.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/detail/number.hpp"
#include "etude/base/error.hpp"
#include "etude/graph/detail/op.hpp"

namespace etude {
namespace {

constexpr char numpy[] = "keras.src.ops.numpy", nn[] = "keras.src.ops.nn", math[] = "keras.src.ops.math";

constexpr ElementwiseOp table[] = {{"negate", "Negative", numpy, ops::negate, nullptr},
                                   {"absolute", "Absolute", numpy, ops::absolute, nullptr},
                                   {"sign", "Sign", numpy, ops::sign, nullptr},
                                   {"square", "Square", numpy, ops::square, nullptr},
                                   {"sqrt", "Sqrt", numpy, ops::sqrt, nullptr},
                                   {"exp", "Exp", numpy, ops::exp, nullptr},
                                   {"log", "Log", numpy, ops::log, nullptr},
                                   {"log1p", "Log1p", numpy, ops::log1p, nullptr},
                                   {"sin", "Sin", numpy, ops::sin, nullptr},
                                   {"cos", "Cos", numpy, ops::cos, nullptr},
                                   {"arctan", "Arctan", numpy, ops::arctan, nullptr},
                                   {"tanh", "Tanh", numpy, ops::tanh, nullptr},
                                   {"sigmoid", "Sigmoid", nn, ops::sigmoid, nullptr},
                                   {"relu", "Relu", nn, ops::relu, nullptr},
                                   {"softplus", "Softplus", nn, ops::softplus, nullptr},
                                   {"erf", "Erf", math, ops::erf, nullptr},
                                   {"floor", "Floor", numpy, ops::floor, nullptr},
                                   {"logical_not", "LogicalNot", numpy, ops::logical_not, nullptr},
                                   {"is_finite", "Isfinite", numpy, ops::is_finite, nullptr},
                                   {"add", "Add", numpy, nullptr, ops::add},
                                   {"subtract", "Subtract", numpy, nullptr, ops::subtract},
                                   {"multiply", "Multiply", numpy, nullptr, ops::multiply},
                                   {"divide", "Divide", numpy, nullptr, ops::divide},
                                   {"true_divide", "TrueDivide", numpy, nullptr, ops::divide},
                                   {"power", "Power", numpy, nullptr, ops::power},
                                   {"maximum", "Maximum", numpy, nullptr, ops::maximum},
                                   {"minimum", "Minimum", numpy, nullptr, ops::minimum},
                                   {"equal", "Equal", numpy, nullptr, ops::equal},
                                   {"less", "Less", numpy, nullptr, ops::less},
                                   {"less_equal", "LessEqual", numpy, nullptr, ops::less_equal},
                                   {"greater", "Greater", numpy, nullptr, ops::greater},
                                   {"greater_equal", "GreaterEqual", numpy, nullptr, ops::greater_equal},
                                   {"logical_and", "LogicalAnd", numpy, nullptr, ops::logical_and},
                                   {"logical_or", "LogicalOr", numpy, nullptr, ops::logical_or},
                                   {"divide_no_nan", "DivideNoNan", numpy, nullptr, ops::divide_no_nan}};

template <class Key> const ElementwiseOp* found(Key ElementwiseOp::* member, Key key) {
  const auto* op = std::ranges::find(table, key, member);
  return op == std::end(table) ? nullptr : op;
}
const ElementwiseOp* found(const char* ElementwiseOp::* member, std::string_view key) {
  const auto* op = std::ranges::find_if(table, [&](const ElementwiseOp& each) { return each.*member == key; });
  return op == std::end(table) ? nullptr : op;
}

/// Whether a dtype of integers has the number.
bool holds(DType dtype, double number) {
  const bool is_byte = dtype == DType::uint8 || dtype == DType::boolean;
  return number == std::trunc(number) && number >= (is_byte ? 0 : -0x1p31) && number < (is_byte ? 256 : 0x1p31);
}

/// Integers as float32 where the result of the op on them is no integer, as in Keras.
std::vector<Value> promoted(const ElementwiseOp& op, const std::vector<std::optional<double>>& numbers,
                            std::vector<Value> inputs) {
  const bool are_integers = std::ranges::none_of(inputs, [](Value x) { return is_floating(x.dtype()); });
  const bool fit = std::ranges::all_of(
      numbers, [&](const std::optional<double>& number) { return !number || holds(inputs.front().dtype(), *number); });
  const bool divides = op.binary == ops::divide;
  if (are_integers && (divides || !fit))
    for (Value& input : inputs) input = ops::cast(input, DType::float32);
  return inputs;
}

}  // namespace

/// The op with its numbers as scalars of the first input's dtype.
Value detail::compute(const ElementwiseOp& op, const std::vector<std::optional<double>>& numbers,
                      std::vector<Value> inputs) {
  inputs = promoted(op, numbers, std::move(inputs));
  std::size_t next = 0;
  std::vector<Value> operands;
  for (const std::optional<double>& number : numbers)
    operands.push_back(number ? ops::scalar(*number, inputs.front()) : inputs.at(next++));
  return op.unary ? op.unary(operands[0]) : op.binary(operands[0], operands[1]);
}

Operation::Operation(std::string_view class_name, Function function, const std::string& name,
                     std::optional<OpCall> call)
    : Layer(class_name, {.name = name}), function_(std::move(function)), saved_call_(std::move(call)) {
  set_operation();
}

Value Operation::call(Value x, bool training) { return call_with({x}, training); }
Outputs Operation::call_with(const std::vector<Value>& inputs, bool) {
  Outputs outputs = function_(inputs);
  // A mask belongs to a node. An op without effect, such as the mean along an axis of extent 1, returns the node of its
  // input, so its result becomes another node.
  for (Value& y : outputs)
    if (y.mask()) y = y.graph().append(op::Reshape{y.shape()}, {y});
  return outputs;
}
Value Operation::mask_of(const std::vector<Value>&, Value) const { return {}; }

std::shared_ptr<Operation> Operation::copy() const {
  return std::make_shared<Operation>(class_name(), function_, name(), saved_call_);
}

const ElementwiseOp* elementwise_op(std::string_view name) { return found(&ElementwiseOp::name, name); }
const ElementwiseOp* elementwise_op_of_class(std::string_view class_name) {
  return found(&ElementwiseOp::class_name, class_name);
}
ElementwiseOp elementwise_op(Value (*function)(Value)) {
  const ElementwiseOp* op = found(&ElementwiseOp::unary, function);
  const auto name = detail::op_name(reinterpret_cast<void (*)()>(function));
  return op ? *op : ElementwiseOp{name.data(), nullptr, nullptr, function, nullptr};
}
ElementwiseOp elementwise_op(Value (*function)(Value, Value)) {
  const ElementwiseOp* op = found(&ElementwiseOp::binary, function);
  const auto name = detail::op_name(reinterpret_cast<void (*)()>(function));
  return op ? *op : ElementwiseOp{name.data(), nullptr, nullptr, nullptr, function};
}

SymbolicTensor apply_op(const ElementwiseOp& op, const std::vector<SymbolicOperand>& operands) {
  const std::string where = std::string("ops.") + op.name;
  check(operands.size() == (op.unary ? 1U : 2U), ErrorKind::value, where, operands.size(), " operands - expected ",
        op.unary ? 1 : 2, " - pass as many.");
  std::vector<SymbolicTensor> tensors;
  std::vector<std::optional<double>> numbers;
  std::vector<Variable> constants;  // by operand that is no number; null for an input
  detail::OpCallWriter call;
  for (const SymbolicOperand& operand : operands) {
    const auto* number = std::get_if<double>(&operand.get());
    numbers.push_back(number ? std::optional(*number) : std::nullopt);
    if (number) {
      call.number(*number);
    } else if (const auto* constant = std::get_if<Tensor>(&operand.get())) {
      call.constant(constants.emplace_back(detail::op_constant(*constant)));
    } else {
      call.input(tensors.size());
      tensors.push_back(std::get<SymbolicTensor>(operand.get()));
      constants.emplace_back();
    }
  }
  check(!tensors.empty(), ErrorKind::value, where, "no SymbolicTensor - expected at least one - pass one.");
  const auto work = [op, numbers, constants](const std::vector<Value>& inputs) -> Outputs {
    std::vector<Value> all;
    std::size_t next = 0;
    for (const Variable& variable : constants) {
      if (!variable) {
        all.push_back(inputs.at(next++));
        continue;
      }
      // A float constant gets the dtype of the tensor beside it.
      const Value constant = Graph::current().read(variable);
      const bool floats = is_floating(constant.dtype()) && is_floating(inputs.front().dtype());
      all.push_back(floats ? ops::cast(constant, inputs.front().dtype()) : constant);
    }
    return detail::compute(op, numbers, std::move(all));
  };
  const std::string class_name = op.class_name ? op.class_name : detail::op_class_name(op.name);
  return apply_all(std::make_shared<Operation>(class_name, work, std::string(), call.call(op.name)), tensors).front();
}

std::string detail::op_class_name(std::string_view name) {
  std::string result;
  bool starts = true;
  for (const char c : name) {
    if (c != '_') result += starts && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts = c == '_';
  }
  return result.empty() ? "Operation" : result;
}

void detail::OpCallWriter::add(std::string_view argument) {
  if (!arguments_.empty()) arguments_ += ", ";
  arguments_ += argument;
}
void detail::OpCallWriter::inputs(std::size_t first, std::size_t count) {
  add("{\"input\": " + std::to_string(first) + ", \"count\": " + std::to_string(count) + '}');
}
void detail::OpCallWriter::constant(const Variable& variable) {
  add("{\"constant\": " + std::to_string(constants_.size()) + '}');
  constants_.push_back(variable);
}
/// A number that JSON does not have is a text.
void detail::OpCallWriter::number(double value) {
  add(std::isfinite(value) ? shortest(value) : "{\"number\": \"" + shortest(value) + "\"}");
}
void detail::OpCallWriter::text(std::string_view value) {
  if (std::ranges::any_of(value, [](char c) { return c == '"' || c == '\\' || c < ' '; })) return unknown();
  add('"' + std::string(value) + '"');
}
void detail::OpCallWriter::list(std::span<const std::int64_t> values) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  add('[' + text + ']');
}
void detail::OpCallWriter::several(const std::vector<Integers>& lists) {
  std::string text;
  for (const Integers& each : lists) {
    const std::string one = each.empty() ? "[]" : each.to_string();
    text += (text.empty() ? "" : ", ") + one;
  }
  add(lists.size() == 1 ? text : '[' + text + ']');
}
std::optional<OpCall> detail::OpCallWriter::call(std::string_view function) const {
  if (!known_ || function.empty()) return {};
  return OpCall{std::string(function), '[' + arguments_ + ']', constants_};
}

Variable detail::op_constant(const Tensor& value) {
  Variable variable("constant", value, false);
  variable.set_managed();
  return variable;
}

}  // namespace etude
