#include "etude/layers/operation.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"

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

/// The op with its numbers as scalars of the first input's dtype.
Outputs compute(const ElementwiseOp& op, const std::vector<std::optional<double>>& numbers, std::vector<Value> inputs) {
  inputs = promoted(op, numbers, std::move(inputs));
  std::size_t next = 0;
  std::vector<Value> operands;
  for (const std::optional<double>& number : numbers)
    operands.push_back(number ? ops::scalar(*number, inputs.front()) : inputs.at(next++));
  return op.unary ? op.unary(operands[0]) : op.binary(operands[0], operands[1]);
}

}  // namespace

Operation::Operation(std::string_view class_name, Function function, const std::string& name)
    : Layer(class_name, {.name = name}), function_(std::move(function)) {
  set_operation();
}

Operation::Operation(const ElementwiseOp& op, std::vector<std::optional<double>> numbers, const std::string& name)
    : Operation(
          op.class_name, [op, numbers](const std::vector<Value>& inputs) { return compute(op, numbers, inputs); },
          name) {
  elementwise_ = op;
  numbers_ = std::move(numbers);
}

Value Operation::call(Value x, bool training) { return call_with({x}, training); }
Outputs Operation::call_with(const std::vector<Value>& inputs, bool) { return function_(inputs); }
Value Operation::mask_of(const std::vector<Value>&, Value) const { return {}; }

std::shared_ptr<Operation> Operation::copy() const {
  if (elementwise_) return std::make_shared<Operation>(*elementwise_, numbers_, name());
  return std::make_shared<Operation>(class_name(), function_, name());
}

const ElementwiseOp* elementwise_op(std::string_view name) { return found(&ElementwiseOp::name, name); }
const ElementwiseOp* elementwise_op_of_class(std::string_view class_name) {
  return found(&ElementwiseOp::class_name, class_name);
}
ElementwiseOp elementwise_op(Value (*function)(Value)) {
  const ElementwiseOp* op = found(&ElementwiseOp::unary, function);
  return op ? *op : ElementwiseOp{"", "Operation", nullptr, function, nullptr};
}
ElementwiseOp elementwise_op(Value (*function)(Value, Value)) {
  const ElementwiseOp* op = found(&ElementwiseOp::binary, function);
  return op ? *op : ElementwiseOp{"", "Operation", nullptr, nullptr, function};
}

SymbolicTensor apply_op(const ElementwiseOp& op, const std::vector<SymbolicOperand>& operands) {
  const std::string where = std::string("ops.") + op.name;
  check(operands.size() == (op.unary ? 1U : 2U), ErrorKind::value, where, operands.size(), " operands - expected ",
        op.unary ? 1 : 2, " - pass as many.");
  std::vector<SymbolicTensor> tensors;
  std::vector<std::optional<double>> numbers;
  std::vector<Variable> constants;  // by operand; only if there is a Tensor
  bool has_constants = false;
  for (const SymbolicOperand& operand : operands) {
    const auto* tensor = std::get_if<SymbolicTensor>(&operand);
    const auto* number = std::get_if<double>(&operand);
    const auto* constant = std::get_if<Tensor>(&operand);
    if (tensor) tensors.push_back(*tensor);
    numbers.push_back(number ? std::optional(*number) : std::nullopt);
    constants.push_back(constant ? detail::op_constant(*constant) : Variable());
    has_constants |= constant != nullptr;
  }
  check(!tensors.empty(), ErrorKind::value, where, "no SymbolicTensor - expected at least one - pass one.");
  if (!has_constants) return apply_all(std::make_shared<Operation>(op, std::move(numbers)), tensors).front();
  // A float constant gets the dtype of the tensor beside it.
  const auto work = [op, numbers, constants](const std::vector<Value>& inputs) -> Outputs {
    std::vector<Value> all;
    for (std::size_t i = 0, next = 0; i < numbers.size(); ++i) {
      if (!constants[i]) {
        all.push_back(inputs.at(next++));
        continue;
      }
      const Value constant = Graph::current().read(constants[i]);
      const bool floats = is_floating(constant.dtype()) && is_floating(inputs.front().dtype());
      all.push_back(floats ? ops::cast(constant, inputs.front().dtype()) : constant);
    }
    return op.binary(all[0], all[1]);
  };
  return apply_all(std::make_shared<Operation>(op.class_name, work), tensors).front();
}

Variable detail::op_constant(const Tensor& value) {
  Variable variable("constant", value, false);
  variable.set_managed();
  return variable;
}

}  // namespace etude
