/// Ops that are composed of other ops. They are in the part saving, which reads them from files of models.
#include "bind.hpp"

namespace etude::js {
namespace {

using Axes = std::vector<std::ptrdiff_t>;

/// The axes of a tensordot: a number of them, or lists of both operands.
struct ContractedAxes {
  std::vector<Integers> all = {2};
};

}  // namespace

template <> struct Conversion<ContractedAxes> {
  static ContractedAxes from(const val& value, const Where& where) {
    if (!value.isArray()) return {{from_js<std::int64_t>(value, where)}};
    return {from_js<std::vector<Integers>>(value, where)};
  }
  static std::string given() { return "number | readonly (number | readonly number[])[]"; }
};

// Lambdas, because those of this block are in the part.
EMSCRIPTEN_BINDINGS(more_ops) {
  if (in_worker()) return;
  bind<"ops.reciprocal(x)", [](Value x) { return ops::reciprocal(x); }>();
  bind<"ops.rsqrt(x)", [](Value x) { return ops::rsqrt(x); }>();
  bind<"ops.ceil(x)", [](Value x) { return ops::ceil(x); }>();
  bind<"ops.round(x)", [](Value x) { return ops::round(x); }>();
  bind<"ops.trunc(x)", [](Value x) { return ops::trunc(x); }>();
  bind<"ops.expm1(x)", [](Value x) { return ops::expm1(x); }>();
  bind<"ops.exp2(x)", [](Value x) { return ops::exp2(x); }>();
  bind<"ops.log2(x)", [](Value x) { return ops::log2(x); }>();
  bind<"ops.log10(x)", [](Value x) { return ops::log10(x); }>();
  bind<"ops.tan(x)", [](Value x) { return ops::tan(x); }>();
  bind<"ops.arcsin(x)", [](Value x) { return ops::arcsin(x); }>();
  bind<"ops.arccos(x)", [](Value x) { return ops::arccos(x); }>();
  bind<"ops.arcsinh(x)", [](Value x) { return ops::arcsinh(x); }>();
  bind<"ops.arccosh(x)", [](Value x) { return ops::arccosh(x); }>();
  bind<"ops.arctanh(x)", [](Value x) { return ops::arctanh(x); }>();
  bind<"ops.sinh(x)", [](Value x) { return ops::sinh(x); }>();
  bind<"ops.cosh(x)", [](Value x) { return ops::cosh(x); }>();
  bind<"ops.is_nan(x)", [](Value x) { return ops::is_nan(x); }>();
  bind<"ops.is_inf(x)", [](Value x) { return ops::is_inf(x); }>();

  bind<"ops.arctan2(y, x)", [](Value y, Value x) { return ops::arctan2(y, x); }>();
  bind<"ops.not_equal(a, b)", [](Value a, Value b) { return ops::not_equal(a, b); }>();
  bind<"ops.logical_xor(a, b)", [](Value a, Value b) { return ops::logical_xor(a, b); }>();
  bind<"ops.floor_divide(a, b)", [](Value a, Value b) { return ops::floor_divide(a, b); }>();
  bind<"ops.mod(a, b)", [](Value a, Value b) { return ops::mod(a, b); }>();
  bind<"ops.logaddexp(a, b)", [](Value a, Value b) { return ops::logaddexp(a, b); }>();
  bind<"ops.squared_difference(a, b)", [](Value a, Value b) { return ops::squared_difference(a, b); }>();

  bind<"ops.min(x, axes?, keepdims?)", [](Value x, Axes axes, bool keepdims) { return ops::min(x, axes, keepdims); }>();
  bind<"ops.prod(x, axes?, keepdims?)",
       [](Value x, Axes axes, bool keepdims) { return ops::prod(x, axes, keepdims); }>();
  bind<"ops.any(x, axes?, keepdims?)", [](Value x, Axes axes, bool keepdims) { return ops::any(x, axes, keepdims); }>();
  bind<"ops.all(x, axes?, keepdims?)", [](Value x, Axes axes, bool keepdims) { return ops::all(x, axes, keepdims); }>();
  bind<"ops.count_nonzero(x, axes?, keepdims?)",
       [](Value x, Axes axes, bool keepdims) { return ops::count_nonzero(x, axes, keepdims); }>();
  bind<"ops.var(x, axes?, keepdims?)", [](Value x, Axes axes, bool keepdims) { return ops::var(x, axes, keepdims); }>();
  bind<"ops.std(x, axes?, keepdims?)", [](Value x, Axes axes, bool keepdims) { return ops::std(x, axes, keepdims); }>();
  bind<"ops.logsumexp(x, axes?, keepdims?)",
       [](Value x, Axes axes, bool keepdims) { return ops::logsumexp(x, axes, keepdims); }>();
  bind<"ops.norm(x, axes?, keepdims?)",
       [](Value x, Axes axes, bool keepdims) { return ops::norm(x, axes, keepdims); }>();
  bind<"ops.normalize(x, axis?, epsilon?)",
       [](Value x, std::optional<std::int64_t> axis, std::optional<double> epsilon) {
         return ops::normalize(x, static_cast<std::ptrdiff_t>(axis.value_or(-1)), epsilon.value_or(etude::epsilon()));
       }>();
  bind<"ops.argmin(x)", [](Value x) { return ops::argmin(x); }>();
  bind<"ops.diff(x, n?, axis?)", [](Value x, std::optional<std::int64_t> n, std::optional<std::int64_t> axis) {
    return ops::diff(x, n.value_or(1), static_cast<std::ptrdiff_t>(axis.value_or(-1)));
  }>();

  bind<"ops.argsort(x, axis?, descending?)", [](Value x, std::optional<std::int64_t> axis, bool descending) {
    return ops::argsort(x, static_cast<std::ptrdiff_t>(axis.value_or(-1)), descending);
  }>();
  bind<"ops.sort(x, axis?)", [](Value x, std::optional<std::int64_t> axis) {
    return ops::sort(x, static_cast<std::ptrdiff_t>(axis.value_or(-1)));
  }>();
  bind<"ops.top_k(x, k)", [](Value x, std::int64_t k) {
    const auto [values, indices] = ops::top_k(x, k);
    return std::vector{values, indices};
  }>();
  bind<"ops.median(x, axes?, keepdims?)",
       [](Value x, Axes axes, bool keepdims) { return ops::median(x, axes, keepdims); }>();
  bind<"ops.quantile(x, q, axes?, keepdims?)",
       [](Value x, double q, Axes axes, bool keepdims) { return ops::quantile(x, q, axes, keepdims); }>();

  bind<"ops.stack(x, axis?)", [](std::vector<Value> x, std::ptrdiff_t axis) { return ops::stack(x, axis); }>();
  bind<"ops.unstack(x, axis?)", [](Value x, std::ptrdiff_t axis) { return ops::unstack(x, axis); }>();
  bind<"ops.pad(x, width, number?)",
       [](Value x, Margins width, double number) { return ops::pad(x, width, number); }>();
  bind<"ops.flip(x, axes?)", [](Value x, Integers axes) { return ops::flip(x, axes); }>();
  bind<"ops.roll(x, shift, axes?)", [](Value x, Integers shift, Integers axes) { return ops::roll(x, shift, axes); }>();
  bind<"ops.repeat(x, repeats, axis?)",
       [](Value x, Integers repeats, std::optional<std::ptrdiff_t> axis) { return ops::repeat(x, repeats, axis); }>();
  bind<"ops.tile(x, repeats)", [](Value x, Integers repeats) { return ops::tile(x, repeats); }>();
  bind<"ops.swapaxes(x, axis1, axis2)",
       [](Value x, std::ptrdiff_t axis1, std::ptrdiff_t axis2) { return ops::swapaxes(x, axis1, axis2); }>();
  bind<"ops.moveaxis(x, source, destination)",
       [](Value x, Integers source, Integers destination) { return ops::moveaxis(x, source, destination); }>();
  bind<"ops.take_along_axis(x, indices, axis?)", [](Value x, Value indices, std::optional<std::ptrdiff_t> axis) {
    return ops::take_along_axis(x, indices, axis);
  }>();
  bind<"ops.meshgrid(x, indexing?)", [](std::vector<Value> x, std::optional<std::string> indexing) {
    return ops::meshgrid(x, indexing.value_or("xy"));
  }>();
  bind<"ops.tril(x, k?)", [](Value x, std::int64_t k) { return ops::tril(x, k); }>();
  bind<"ops.triu(x, k?)", [](Value x, std::int64_t k) { return ops::triu(x, k); }>();
  bind<"ops.zeros_like(x, dtype?)", [](Value x, std::optional<DType> dtype) { return ops::zeros_like(x, dtype); }>();
  bind<"ops.ones_like(x, dtype?)", [](Value x, std::optional<DType> dtype) { return ops::ones_like(x, dtype); }>();
  bind<"ops.arange(start, stop, step?, dtype?)",
       [](double start, double stop, std::optional<double> step, std::optional<DType> dtype) {
         return ops::arange(start, stop, step.value_or(1), dtype.value_or(floatx()));
       }>();
  bind<"ops.linspace(start, stop, num?, endpoint?, dtype?)",
       [](double start, double stop, std::optional<std::int64_t> num, std::optional<bool> endpoint,
          std::optional<DType> dtype) {
         return ops::linspace(start, stop, num.value_or(50), endpoint.value_or(true), dtype.value_or(floatx()));
       }>();
  bind<"ops.eye(rows, columns?, k?, dtype?)",
       [](std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t k, std::optional<DType> dtype) {
         return ops::eye(rows, columns, k, dtype.value_or(floatx()));
       }>();

  bind<"ops.dot(a, b)", [](Value a, Value b) { return ops::dot(a, b); }>();
  bind<"ops.vdot(a, b)", [](Value a, Value b) { return ops::vdot(a, b); }>();
  bind<"ops.inner(a, b)", [](Value a, Value b) { return ops::inner(a, b); }>();
  bind<"ops.outer(a, b)", [](Value a, Value b) { return ops::outer(a, b); }>();
  bind<"ops.tensordot(a, b, axes?)",
       [](Value a, Value b, ContractedAxes axes) { return ops::tensordot(a, b, axes.all); }>();
}

}  // namespace etude::js
