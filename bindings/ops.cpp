/// et.ops: the operations of steps, with the names of core/etude/ops.
#include "bind.hpp"

namespace etude::js {
namespace {

/// The sources of a gradient: variables, or Values of the trace.
struct Sources {
  std::vector<Variable> variables = {};
  std::vector<Value> values = {};
};

/// The function of Values among those of a name.
template <class... A> consteval auto of_values(Value (*function)(A...)) { return function; }

}  // namespace

template <> struct Conversion<Sources> {
  static Sources from(const val& value, const Where& where) {
    if (value.isArray() && Conversion<Value>::is(value[0]))
      return {.values = from_js<std::vector<Value>>(value, where)};
    return {.variables = from_js<std::vector<Variable>>(value, where)};
  }
  static std::string given() { return "readonly Variable[] | readonly Value[]"; }
};

EMSCRIPTEN_BINDINGS(ops) {
  if (in_worker()) return;
  bind<"ops.negate(x)", of_values(ops::negate)>();
  bind<"ops.absolute(x)", of_values(ops::absolute)>();
  bind<"ops.sign(x)", of_values(ops::sign)>();
  bind<"ops.square(x)", of_values(ops::square)>();
  bind<"ops.sqrt(x)", of_values(ops::sqrt)>();
  bind<"ops.exp(x)", of_values(ops::exp)>();
  bind<"ops.log(x)", of_values(ops::log)>();
  bind<"ops.log1p(x)", of_values(ops::log1p)>();
  bind<"ops.sin(x)", of_values(ops::sin)>();
  bind<"ops.cos(x)", of_values(ops::cos)>();
  bind<"ops.arctan(x)", of_values(ops::arctan)>();
  bind<"ops.tanh(x)", of_values(ops::tanh)>();
  bind<"ops.sigmoid(x)", of_values(ops::sigmoid)>();
  bind<"ops.relu(x)", of_values(ops::relu)>();
  bind<"ops.softplus(x)", of_values(ops::softplus)>();
  bind<"ops.erf(x)", of_values(ops::erf)>();
  bind<"ops.floor(x)", of_values(ops::floor)>();
  bind<"ops.logical_not(x)", of_values(ops::logical_not)>();
  bind<"ops.is_finite(x)", of_values(ops::is_finite)>();

  bind<"ops.add(a, b)", of_values(ops::add)>();
  bind<"ops.subtract(a, b)", of_values(ops::subtract)>();
  bind<"ops.multiply(a, b)", of_values(ops::multiply)>();
  bind<"ops.divide(a, b)", of_values(ops::divide)>();
  bind<"ops.power(a, b)", of_values(ops::power)>();
  bind<"ops.maximum(a, b)", of_values(ops::maximum)>();
  bind<"ops.minimum(a, b)", of_values(ops::minimum)>();
  bind<"ops.equal(a, b)", of_values(ops::equal)>();
  bind<"ops.less(a, b)", of_values(ops::less)>();
  bind<"ops.less_equal(a, b)", of_values(ops::less_equal)>();
  bind<"ops.greater(a, b)", of_values(ops::greater)>();
  bind<"ops.greater_equal(a, b)", of_values(ops::greater_equal)>();
  bind<"ops.logical_and(a, b)", of_values(ops::logical_and)>();
  bind<"ops.logical_or(a, b)", of_values(ops::logical_or)>();
  bind<"ops.where(condition, a, b)", of_values(ops::where)>();
  bind<"ops.clip(x, low, high)", of_values(ops::clip)>();
  bind<"ops.divide_no_nan(a, b)", of_values(ops::divide_no_nan)>();
  bind<"ops.cast(x, dtype)", of_values(ops::cast)>();
  bind<"ops.stop_gradient(x)", of_values(ops::stop_gradient)>();
  bind<"ops.scalar(value, like)", of_values(ops::scalar)>();

  bind<"ops.matmul(a, b, transpose_a?, transpose_b?)", [](Value a, Value b, bool transpose_a, bool transpose_b) {
    return transpose_a || transpose_b ? ops::matmul(a, b, transpose_a, transpose_b) : ops::matmul(a, b);
  }>();
  bind<"ops.sum(x, axes?, keepdims?)", of_values(ops::sum)>();
  bind<"ops.mean(x, axes?, keepdims?)", of_values(ops::mean)>();
  bind<"ops.einsum(equation, a, b)",
       [](std::string equation, Value a, Value b) { return ops::einsum(equation, a, b); }>();
  bind<"ops.cumsum(x, axis, exclusive?, reverse?)", of_values(ops::cumsum)>();
  bind<"ops.max(x, axes?, keepdims?)", of_values(ops::max)>();
  bind<"ops.argmax(x)", of_values(ops::argmax)>();
  bind<"ops.one_hot(labels, depth, dtype?)", [](Value labels, std::int64_t depth, std::optional<DType> dtype) {
    return ops::one_hot(labels, depth, dtype.value_or(floatx()));
  }>();

  bind<"ops.take(x, indices)", of_values(ops::take)>();
  bind<"ops.scatter_add(x, indices, rows)", of_values(ops::scatter_add)>();
  bind<"ops.broadcast_to(x, shape)", of_values(ops::broadcast_to)>();
  bind<"ops.sum_to(x, shape)", of_values(ops::sum_to)>();
  bind<"ops.reshape(x, shape)", of_values(ops::reshape)>();
  bind<"ops.expand_dims(x, axis)", of_values(ops::expand_dims)>();
  bind<"ops.squeeze(x, axis)", of_values(ops::squeeze)>();
  bind<"ops.transpose(x, order?)", of_values(ops::transpose)>();
  bind<"ops.slice(x, axis, first, count)", of_values(ops::slice)>();
  bind<"ops.reverse(x, axis)", of_values(ops::reverse)>();
  bind<"ops.concatenate(x, axis?)", [](const std::vector<Value>& x, std::optional<std::int64_t> axis) {
    return ops::concatenate(x, static_cast<std::ptrdiff_t>(axis.value_or(0)));
  }>();
  bind<"ops.split(x, parts, axis?)", [](Value x, std::int64_t parts, std::optional<std::int64_t> axis) {
    return ops::split(x, parts, static_cast<std::ptrdiff_t>(axis.value_or(0)));
  }>();

  bind<"ops.softmax(x)", of_values(ops::softmax)>();
  bind<"ops.log_softmax(x)", of_values(ops::log_softmax)>();
  bind<"ops.softmax_crossentropy(logits, targets)", of_values(ops::softmax_crossentropy)>();
  bind<"ops.sparse_softmax_crossentropy(logits, labels)", of_values(ops::sparse_softmax_crossentropy)>();
  bind<"ops.sigmoid_crossentropy(logits, targets)", of_values(ops::sigmoid_crossentropy)>();
  bind<"ops.dropout(x, rate, seed, stream, counter)", of_values(ops::dropout)>();
  bind<"ops.uniform(shape, dtype, seed, stream, counter)", of_values(ops::uniform)>();
  bind<"ops.normal(shape, dtype, seed, stream, counter)", of_values(ops::normal)>();
  bind<"ops.full(shape, value, dtype?)", [](Shape shape, double value, std::optional<DType> dtype) {
    return ops::full(shape, value, dtype.value_or(floatx()));
  }>();
  bind<"ops.zeros(shape, dtype?)",
       [](Shape shape, std::optional<DType> dtype) { return ops::zeros(shape, dtype.value_or(floatx())); }>();
  bind<"ops.ones(shape, dtype?)",
       [](Shape shape, std::optional<DType> dtype) { return ops::ones(shape, dtype.value_or(floatx())); }>();
  bind<"ops.all_reduce(x)", of_values(ops::all_reduce)>();

  bind<"gradients(loss, sources)", [](Value loss, Sources sources) {
    return sources.values.empty() ? gradients(loss, sources.variables) : gradients(loss, sources.values);
  }>();
  /// The data of a Value, in a model that runs eagerly.
  bind<"inspect(value)", [](Value value) { return value.graph().inspect(value.id()); }>();
}

}  // namespace etude::js
