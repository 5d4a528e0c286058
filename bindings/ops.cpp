/// et.ops: the operations of steps, with the names of core/etude/ops.
#include "bind.hpp"

namespace etude::js {
namespace {

/// What a loss is differentiated by: variables, or Values of the trace.
struct Sources {
  std::vector<Variable> variables = {};
  std::vector<Value> values = {};
};

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
  bind<"ops.negate(x)", ops::negate>();
  bind<"ops.absolute(x)", ops::absolute>();
  bind<"ops.sign(x)", ops::sign>();
  bind<"ops.square(x)", ops::square>();
  bind<"ops.sqrt(x)", ops::sqrt>();
  bind<"ops.exp(x)", ops::exp>();
  bind<"ops.log(x)", ops::log>();
  bind<"ops.log1p(x)", ops::log1p>();
  bind<"ops.sin(x)", ops::sin>();
  bind<"ops.cos(x)", ops::cos>();
  bind<"ops.tanh(x)", ops::tanh>();
  bind<"ops.sigmoid(x)", ops::sigmoid>();
  bind<"ops.relu(x)", ops::relu>();
  bind<"ops.softplus(x)", ops::softplus>();
  bind<"ops.erf(x)", ops::erf>();
  bind<"ops.floor(x)", ops::floor>();
  bind<"ops.logical_not(x)", ops::logical_not>();
  bind<"ops.is_finite(x)", ops::is_finite>();

  bind<"ops.add(a, b)", ops::add>();
  bind<"ops.subtract(a, b)", ops::subtract>();
  bind<"ops.multiply(a, b)", ops::multiply>();
  bind<"ops.divide(a, b)", ops::divide>();
  bind<"ops.power(a, b)", ops::power>();
  bind<"ops.maximum(a, b)", ops::maximum>();
  bind<"ops.minimum(a, b)", ops::minimum>();
  bind<"ops.equal(a, b)", ops::equal>();
  bind<"ops.less(a, b)", ops::less>();
  bind<"ops.less_equal(a, b)", ops::less_equal>();
  bind<"ops.greater(a, b)", ops::greater>();
  bind<"ops.greater_equal(a, b)", ops::greater_equal>();
  bind<"ops.logical_and(a, b)", ops::logical_and>();
  bind<"ops.logical_or(a, b)", ops::logical_or>();
  bind<"ops.where(condition, a, b)", ops::where>();
  bind<"ops.clip(x, low, high)", ops::clip>();
  bind<"ops.divide_no_nan(a, b)", ops::divide_no_nan>();
  bind<"ops.cast(x, dtype)", ops::cast>();
  bind<"ops.stop_gradient(x)", ops::stop_gradient>();
  bind<"ops.scalar(value, like)", ops::scalar>();

  bind<"ops.matmul(a, b, transpose_a?, transpose_b?)", [](Value a, Value b, bool transpose_a, bool transpose_b) {
    return transpose_a || transpose_b ? ops::matmul(a, b, transpose_a, transpose_b) : ops::matmul(a, b);
  }>();
  bind<"ops.sum(x, axes?, keepdims?)", ops::sum>();
  bind<"ops.mean(x, axes?, keepdims?)", ops::mean>();
  bind<"ops.einsum(equation, a, b)",
       [](std::string equation, Value a, Value b) { return ops::einsum(equation, a, b); }>();
  bind<"ops.cumsum(x, axis, exclusive?, reverse?)", ops::cumsum>();
  bind<"ops.max(x, axes?, keepdims?)", ops::max>();
  bind<"ops.argmax(x)", ops::argmax>();
  bind<"ops.one_hot(labels, depth, dtype?)", [](Value labels, std::int64_t depth, std::optional<DType> dtype) {
    return ops::one_hot(labels, depth, dtype.value_or(floatx()));
  }>();

  bind<"ops.take(x, indices)", ops::take>();
  bind<"ops.scatter_add(x, indices, rows)", ops::scatter_add>();
  bind<"ops.broadcast_to(x, shape)", ops::broadcast_to>();
  bind<"ops.sum_to(x, shape)", ops::sum_to>();
  bind<"ops.reshape(x, shape)", ops::reshape>();
  bind<"ops.expand_dims(x, axis)", ops::expand_dims>();
  bind<"ops.squeeze(x, axis)", ops::squeeze>();
  bind<"ops.transpose(x, order?)", ops::transpose>();
  bind<"ops.slice(x, axis, first, count)", ops::slice>();
  bind<"ops.reverse(x, axis)", ops::reverse>();
  bind<"ops.concatenate(x, axis?)", [](const std::vector<Value>& x, std::optional<std::int64_t> axis) {
    return ops::concatenate(x, static_cast<std::ptrdiff_t>(axis.value_or(-1)));
  }>();
  bind<"ops.split(x, parts, axis?)", [](Value x, std::int64_t parts, std::optional<std::int64_t> axis) {
    return ops::split(x, parts, static_cast<std::ptrdiff_t>(axis.value_or(-1)));
  }>();

  bind<"ops.softmax(x)", ops::softmax>();
  bind<"ops.log_softmax(x)", ops::log_softmax>();
  bind<"ops.softmax_crossentropy(logits, targets)", ops::softmax_crossentropy>();
  bind<"ops.sparse_softmax_crossentropy(logits, labels)", ops::sparse_softmax_crossentropy>();
  bind<"ops.sigmoid_crossentropy(logits, targets)", ops::sigmoid_crossentropy>();
  bind<"ops.dropout(x, rate, seed, stream, counter)", ops::dropout>();
  bind<"ops.uniform(shape, dtype, seed, stream, counter)", ops::uniform>();
  bind<"ops.normal(shape, dtype, seed, stream, counter)", ops::normal>();
  bind<"ops.full(shape, value, dtype?)", [](Shape shape, double value, std::optional<DType> dtype) {
    return ops::full(shape, value, dtype.value_or(floatx()));
  }>();
  bind<"ops.zeros(shape, dtype?)",
       [](Shape shape, std::optional<DType> dtype) { return ops::zeros(shape, dtype.value_or(floatx())); }>();
  bind<"ops.ones(shape, dtype?)",
       [](Shape shape, std::optional<DType> dtype) { return ops::ones(shape, dtype.value_or(floatx())); }>();
  bind<"ops.all_reduce(x)", ops::all_reduce>();

  bind<"gradients(loss, sources)", [](Value loss, Sources sources) {
    return sources.values.empty() ? gradients(loss, sources.variables) : gradients(loss, sources.values);
  }>();
  /// The data of a Value, in a model that runs eagerly.
  bind<"inspect(value)", [](Value value) { return value.graph().inspect(value.id()); }>();
}

}  // namespace etude::js
