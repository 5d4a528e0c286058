#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "etude/base/integers.hpp"
#include "etude/base/margins.hpp"
#include "etude/layers/symbolic.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

/// An elementwise op of one or two operands, with its names.
struct ElementwiseOp {
  /// Its name in ops:: : "negate". Without one it cannot be saved.
  const char* name;
  /// Keras's name of its class, and the module of that: "Negative", "keras.src.ops.numpy"; null for another function.
  const char *class_name, *module;
  /// Its function of one operand, or null.
  Value (*unary)(Value);
  /// Its function of two operands, or null.
  Value (*binary)(Value, Value);
};

/// An operand of an op: a SymbolicTensor, a number of any dtype, or a constant.
class SymbolicOperand {
 public:
  /// A tensor of the model.
  SymbolicOperand(const SymbolicTensor& tensor) : operand_(tensor) {}
  /// A number, in the dtype of the tensor beside it.
  SymbolicOperand(double number) : operand_(number) {}
  /// A constant of the model.
  SymbolicOperand(const Tensor& constant) : operand_(constant) {}

  /// The tensor, number or constant.
  const std::variant<SymbolicTensor, double, Tensor>& get() const { return operand_; }

 private:
  std::variant<SymbolicTensor, double, Tensor> operand_;
};

/// A call of an op as text, from which the description of a model is made.
struct OpCall {
  /// The function's name in ops:: or activations::, "sum". Empty: `arguments` describes the op in Keras's form.
  std::string function;
  /// The arguments, in JSON. {"input": 0} stands for the first input, {"input": 0, "count": 2} for a list of two,
  /// {"constant": 0} for the first constant.
  std::string arguments;
  /// The Tensors among the arguments.
  std::vector<Variable> constants;
};

/// An op of a functional model, as a layer without variables: a function of Values. It has no mask, and computes in the
/// dtypes of its inputs. A model can be saved if its ops are functions of ops:: that Keras has. Source:
/// keras/src/ops/operation.py.
class Operation : public Layer {
 public:
  /// A function of the inputs.
  using Function = std::function<Outputs(const std::vector<Value>&)>;
  /// A function under the name of a class: "Concatenate". It is saved as `call`; without one it cannot be saved.
  Operation(std::string_view class_name, Function function, const std::string& name = {},
            std::optional<OpCall> call = {});
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;

  /// How it is saved; empty for a function of the user.
  const std::optional<OpCall>& saved_call() const { return saved_call_; }
  /// Another one of the same name and function.
  std::shared_ptr<Operation> copy() const;

 protected:
  Value mask_of(const std::vector<Value>& inputs, Value y) const override;

 private:
  Function function_;
  std::optional<OpCall> saved_call_;
};

/// The elementwise op of that name in ops::, or null.
const ElementwiseOp* elementwise_op(std::string_view name);
/// The elementwise op of that class of Keras, or null.
const ElementwiseOp* elementwise_op_of_class(std::string_view class_name);
/// The op of a function of one operand; without a name if it is a function of the user.
ElementwiseOp elementwise_op(Value (*function)(Value));
/// The op of a function of two operands; without a name if it is a function of the user.
ElementwiseOp elementwise_op(Value (*function)(Value, Value));
/// The op on these operands. Throws Error(value) for another number of operands, or without a SymbolicTensor;
/// Error(shape) for shapes that do not broadcast.
SymbolicTensor apply_op(const ElementwiseOp& op, const std::vector<SymbolicOperand>& operands);

namespace detail {

/// A constant of an op: a variable that is neither trained nor saved.
Variable op_constant(const Tensor& value);

/// The elementwise op of inputs and numbers; `numbers` has an entry for each operand, which is empty for an input.
Value compute(const ElementwiseOp& op, const std::vector<std::optional<double>>& numbers, std::vector<Value> inputs);

/// The name in ops:: of a function that can be saved, or an empty text.
std::string_view op_name(void (*function)());

/// "one_hot" -> "OneHot".
std::string op_class_name(std::string_view name);

/// Writes an OpCall, argument by argument.
class OpCallWriter {
 public:
  void input(std::size_t first) { add("{\"input\": " + std::to_string(first) + '}'); }
  void inputs(std::size_t first, std::size_t count);
  void constant(const Variable& variable);
  void number(double value);
  void flag(bool value) { add(value ? "true" : "false"); }
  void text(std::string_view value);
  void list(std::span<const std::int64_t> values);
  /// Lists, each of which is a number if it has one entry, and the only one of which stands for itself.
  void several(const std::vector<Integers>& lists);
  /// An argument that has no text: there is no call.
  void unknown() { known_ = false; }
  template <class T> void any(const T& value) {
    if constexpr (std::same_as<T, bool>)
      flag(value);
    else if constexpr (std::integral<T>)
      add(std::to_string(value));
    else if constexpr (std::floating_point<T>)
      number(static_cast<double>(value));
    else if constexpr (std::same_as<T, DType>)
      text(name_of(value));
    else if constexpr (std::same_as<T, Integers>)
      several({value});
    else if constexpr (std::same_as<T, std::vector<Integers>>)
      several(value);
    else if constexpr (std::same_as<T, Margins>)
      several(value.entries());
    else if constexpr (requires { value.has_value(); })
      value ? any(*value) : add("null");
    else if constexpr (std::convertible_to<const T&, std::string_view>)
      text(value);
    else if constexpr (requires { std::vector<std::int64_t>(value.begin(), value.end()); })
      list(std::vector<std::int64_t>(value.begin(), value.end()));
    else
      unknown();
  }

  /// The call of that function; none without a name or with an unknown argument.
  std::optional<OpCall> call(std::string_view function) const;

 private:
  void add(std::string_view argument);

  std::string arguments_;
  std::vector<Variable> constants_;
  bool known_ = true;
};

/// The tensors among the arguments of a function. Each argument becomes a function that returns it within a call.
class SymbolicArguments {
 public:
  auto place(const SymbolicTensor& x) {
    call.input(tensors.size());
    tensors.push_back(x);
    return [at = tensors.size() - 1](const std::vector<Value>& values) { return values[at]; };
  }
  auto place(const std::vector<SymbolicTensor>& list) {
    const auto first = static_cast<std::ptrdiff_t>(tensors.size()), count = static_cast<std::ptrdiff_t>(list.size());
    call.inputs(tensors.size(), list.size());
    tensors.insert(tensors.end(), list.begin(), list.end());
    return [first, count](const std::vector<Value>& values) {
      return std::vector<Value>(values.begin() + first, values.begin() + first + count);
    };
  }
  auto place(const Tensor& constant) {
    const Variable variable = op_constant(constant);
    call.constant(variable);
    return [variable](const std::vector<Value>&) { return Graph::current().read(variable); };
  }
  template <class T> auto place(const T& other) {
    call.any(other);
    if constexpr (std::convertible_to<const T&, std::string_view>)  // which may not outlive this
      return [text = std::string(other)](const std::vector<Value>&) { return text; };
    else
      return [other](const std::vector<Value>&) { return other; };
  }

  std::vector<SymbolicTensor> tensors;
  OpCallWriter call;
};

template <class F>
concept ElementwiseFunction = std::same_as<F, Value (*)(Value)> || std::same_as<F, Value (*)(Value, Value)>;
template <class F>
concept FunctionPointer = std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>;
template <class T>
concept Operand = std::same_as<T, SymbolicTensor> || std::same_as<T, Tensor> || std::is_arithmetic_v<T>;

/// The call of a function of Values on arguments some of which are SymbolicTensors.
template <class F, class... Arguments> auto call_symbolic(F function, const Arguments&... given) {
  if constexpr (ElementwiseFunction<F>) {
    return apply_op(elementwise_op(function), {SymbolicOperand(given)...});
  } else {
    SymbolicArguments arguments;
    const std::tuple read{arguments.place(given)...};
    const auto work = [function, read](const std::vector<Value>& values) {
      return std::apply([&](const auto&... each) { return function(each(values)...); }, read);
    };
    std::string_view name;
    if constexpr (FunctionPointer<F>) name = op_name(reinterpret_cast<void (*)()>(function));
    const auto outputs =
        apply_all(std::make_shared<Operation>(
                      op_class_name(name), [work](const std::vector<Value>& v) { return Outputs(work(v)); },
                      std::string(), arguments.call.call(name)),
                  arguments.tensors);
    if constexpr (std::same_as<decltype(work({})), Value>)
      return outputs.front();
    else
      return outputs;
  }
}

}  // namespace detail

/// Calls a function of Values on SymbolicTensors: adds it to a functional model as an op. Other arguments are passed
/// on; a Tensor is a constant of the model.
///
///     SymbolicTensor y = symbolic(ops::exp, x);
///     SymbolicTensor z = symbolic([](Value a, Value b) { return ops::concatenate({a, ops::exp(b)}, 1); }, x, y);
///     std::vector<SymbolicTensor> parts = symbolic(ops::split, x, 2, -1);
///
/// Returns a SymbolicTensor for each Value that the function returns. The function is traced at once, for two sizes of
/// a batch, and then with each step. Errors are those of the function.
template <class F, class... Arguments> auto symbolic(F function, const Arguments&... given) {
  return detail::call_symbolic(function, given...);
}
/// The same for functions that ops:: also has for SymbolicTensors.
template <class... A, class... Arguments> auto symbolic(Value (*function)(A...), const Arguments&... given) {
  return detail::call_symbolic(function, given...);
}
/// The same for functions that return several Values.
template <class... A, class... Arguments>
auto symbolic(std::vector<Value> (*function)(A...), const Arguments&... given) {
  return detail::call_symbolic(function, given...);
}

/// Either operand is a SymbolicTensor; the other one may be a number or a Tensor.
template <class A, class B>
concept SymbolicOperands =
    detail::Operand<A> && detail::Operand<B> && (std::same_as<A, SymbolicTensor> || std::same_as<B, SymbolicTensor>);

/// -x.
inline SymbolicTensor operator-(const SymbolicTensor& x) { return symbolic(ops::negate, x); }
/// a + b of SymbolicTensors, numbers and Tensors. Shapes broadcast.
template <class A, class B>
  requires SymbolicOperands<A, B>
SymbolicTensor operator+(const A& a, const B& b) {
  return symbolic(ops::add, a, b);
}
/// a - b of SymbolicTensors, numbers and Tensors. Shapes broadcast.
template <class A, class B>
  requires SymbolicOperands<A, B>
SymbolicTensor operator-(const A& a, const B& b) {
  return symbolic(ops::subtract, a, b);
}
/// a * b of SymbolicTensors, numbers and Tensors. Shapes broadcast.
template <class A, class B>
  requires SymbolicOperands<A, B>
SymbolicTensor operator*(const A& a, const B& b) {
  return symbolic(ops::multiply, a, b);
}
/// a / b of SymbolicTensors, numbers and Tensors. Shapes broadcast.
template <class A, class B>
  requires SymbolicOperands<A, B>
SymbolicTensor operator/(const A& a, const B& b) {
  return symbolic(ops::divide, a, b);
}

}  // namespace etude
